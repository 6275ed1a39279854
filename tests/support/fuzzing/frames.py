"""Parses frames of requests as the broker does, builds them, and limits those that a test cannot afford."""

from dataclasses import dataclass
from typing import Any

from pybroker.broker.network.request_header import BadRequestHeaderError, RequestHeaderParser
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import DecodeError, Message, decode_prefix, encode
from pybroker.protocol.messages.headers import RequestHeader

__all__ = ["ReadFrame", "build_frame", "header_bytes", "tame"]

_PARSER = RequestHeaderParser()
_MAX_WAIT_MS = 200
_MAX_PARTITIONS = 6
_MAX_NEW_PARTITIONS = 10_000
"""The broker refuses larger numbers, so they are not reduced."""
_BROKER, _BROKER_LOGGER = 4, 8
_WAITING = ("max_wait_ms", "timeout_ms", "rebalance_timeout_ms", "session_timeout_ms")


@dataclass(slots=True)
class ReadFrame:
    """A frame (without its size) as the broker must understand it.

    Attributes:
        message: None when the body is not to be decoded, or the API is not among those that are.
    """

    data: bytes
    key: int = -1
    version: int = -1
    correlation_id: int = 0
    header_size: int = 0
    message: Message | None = None

    @classmethod
    def read(cls, data: bytes) -> "ReadFrame":
        try:
            key, version, correlation_id, _, header_size = _PARSER.parse(bytearray(data))
        except BadRequestHeaderError:
            return cls(data)
        message = None
        spec = API_SPECS[ApiKey(key)]
        if version in spec.versions:
            try:
                message, _ = decode_prefix(spec.request_type(), data, version, header_size)
            except DecodeError:
                message = None
        return cls(data, key, version, correlation_id, header_size, message)

    @property
    def expects_no_answer(self) -> bool:
        return self.key == ApiKey.PRODUCE and self.message is not None and self.message.acks == 0  # type: ignore[attr-defined]


def header_bytes(key: ApiKey, version: int, correlation_id: int, client_id: str | None = "fuzz") -> bytes:
    header = RequestHeader(
        request_api_key=key, request_api_version=version, correlation_id=correlation_id, client_id=client_id
    )
    return encode(header, API_SPECS[key].request_header_version(version))


def build_frame(message: Message, version: int, correlation_id: int) -> bytes:
    """Raises EncodeError."""
    key = message.MESSAGE.api_key
    assert key is not None
    return header_bytes(ApiKey(key), version, correlation_id) + encode(message, version)


def tame(frame: ReadFrame) -> ReadFrame:
    """The same frame with short waits, small topics and without changes of broker settings.

    All other fields are unchanged; a frame that needs no change is returned as it is.
    """
    message = frame.message
    if message is None or not _tame(message):
        return frame
    data = frame.data[: frame.header_size] + encode(message, frame.version)
    return ReadFrame.read(data)


def _tame(message: Any) -> bool:
    """Limit a message in place; returns whether it was changed."""
    changed = False
    for name in _WAITING:
        if getattr(message, name, 0) > _MAX_WAIT_MS:
            setattr(message, name, _MAX_WAIT_MS)
            changed = True
    match message.MESSAGE.api_key:
        case ApiKey.CREATE_TOPICS:
            changed |= _shrink(message.topics, "num_partitions")
        case ApiKey.CREATE_PARTITIONS:
            changed |= _shrink(message.topics, "count")
        case ApiKey.ALTER_CONFIGS | ApiKey.INCREMENTAL_ALTER_CONFIGS if not message.validate_only:
            if any(each.resource_type in (_BROKER, _BROKER_LOGGER) for each in message.resources):
                message.validate_only = changed = True
        case _:
            pass
    return changed


def _shrink(topics: list[Any], name: str) -> bool:
    changed = False
    for topic in topics:
        count = getattr(topic, name)
        if _MAX_PARTITIONS < count <= _MAX_NEW_PARTITIONS + 100:
            setattr(topic, name, count % _MAX_PARTITIONS + 1)
            changed = True
    return changed
