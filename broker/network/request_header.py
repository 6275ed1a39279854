"""The request header, versions 0 to 2, from the front of a frame.

    int16 api key, int16 api version, int32 correlation id
    int16 length and bytes of the client id (-1: null)       from header version 1
    tagged fields                                            from header version 2

Which header version a request has follows from its key and version, so the first four bytes decide.
"""

from collections.abc import Callable
from struct import Struct
from typing import TypeAlias

__all__ = ["BadRequestHeaderError", "HeaderVersion", "RequestHeader", "RequestHeaderParser", "api_header_version"]

HeaderVersion: TypeAlias = Callable[[int, int], int | None]
"""``(api key, api version) -> header version``; None: no such API."""

RequestHeader: TypeAlias = tuple[int, int, int, bytearray | None, int]
"""api key, api version, correlation id, client id (UTF-8; None: null), size of the header in bytes."""

_FIXED_SIZE = 8
_HEADER = Struct(">hhih")
_MAX_VARINT_BYTES = 5
_MAX_TAGGED_FIELDS = 1000
_MAX_REMEMBERED = 4096  # versions are the client's to choose: do not remember whatever it makes up


class BadRequestHeaderError(Exception):
    """The frame does not begin with the header of an API that is known here. The message says why."""


def api_header_version(api_key: int, api_version: int) -> int | None:
    """Header version by the table of APIs. A version newer than we know has the header of the newest we know."""
    from ...protocol.apis import API_SPECS, ApiKey

    try:
        spec = API_SPECS[ApiKey(api_key)]
    except (KeyError, ValueError):
        return None
    return spec.request_header_version(max(spec.min_version, min(api_version, spec.max_version)))


class RequestHeaderParser:
    """Decodes headers, and remembers which API and version has which header version."""

    __slots__ = ("_header_version", "_known")

    def __init__(self, header_version: HeaderVersion = api_header_version) -> None:
        self._header_version = header_version
        self._known: dict[tuple[int, int], int] = {}

    def parse(self, frame: bytearray) -> RequestHeader:
        """:raises BadRequestHeaderError: with a reason for the log."""
        size = len(frame)
        # A header of version 0 is shorter, but the one request that has it (ControlledShutdown v0) has a body.
        if size < _HEADER.size:
            raise BadRequestHeaderError(f"{size} bytes are too few for a request header")
        api_key, api_version, correlation_id, client_id_size = _HEADER.unpack_from(frame)
        header_version = self._known.get((api_key, api_version))
        if header_version is None:
            header_version = self._look_up(api_key, api_version)
        if header_version == 0:
            return api_key, api_version, correlation_id, None, _FIXED_SIZE
        client_id = None
        end = _HEADER.size
        if client_id_size >= 0:  # any negative length means null, as in Kafka
            end += client_id_size
            if end > size:
                raise BadRequestHeaderError("the client id reaches past the end of the frame")
            client_id = frame[_HEADER.size : end]
        if header_version >= 2:
            if end < size and frame[end] == 0:  # no tagged fields, as in nearly all requests
                end += 1
            else:
                end = _skip_tagged_fields(frame, end)
        return api_key, api_version, correlation_id, client_id, end

    def _look_up(self, api_key: int, api_version: int) -> int:
        header_version = self._header_version(api_key, api_version)
        if header_version is None:
            raise BadRequestHeaderError(f"there is no API with key {api_key}")
        if len(self._known) < _MAX_REMEMBERED:
            self._known[api_key, api_version] = header_version
        return header_version


def _skip_tagged_fields(frame: bytearray, position: int) -> int:
    count, position = _unsigned_varint(frame, position)
    if count > _MAX_TAGGED_FIELDS:  # Kafka's clients send none; a frame has space for millions, and each takes time
        raise BadRequestHeaderError(f"the header has {count} tagged fields")
    for _ in range(count):
        _tag, position = _unsigned_varint(frame, position)
        field_size, position = _unsigned_varint(frame, position)
        position += field_size
    if position > len(frame):
        raise BadRequestHeaderError("a tagged field of the header reaches past the end of the frame")
    return position


def _unsigned_varint(frame: bytearray, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * _MAX_VARINT_BYTES, 7):
        if position >= len(frame):
            raise BadRequestHeaderError("the header reaches past the end of the frame")
        byte = frame[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise BadRequestHeaderError("a varint in the header is longer than five bytes")
