"""Judges a broker's reaction to a frame: a response as declared, or a closed connection for an unservable frame."""

from collections.abc import Mapping, Sequence
from typing import Any

from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import DecodeError, Message, decode, decode_prefix
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.headers import ResponseHeader
from support.fuzzing.frames import ReadFrame
from support.fuzzing.world import structs_of

__all__ = ["Oracle"]


class Oracle:
    """``served``: versions by API, as the broker's ApiVersions says."""

    def __init__(self, served: Mapping[int, Sequence[int]]) -> None:
        self._served = served

    def judge_answer(self, frame: ReadFrame, answer: bytes) -> tuple[Message | None, str]:
        """The response's message, and what is wrong with it ("" for nothing)."""
        key, version = frame.key, frame.version
        if key == ApiKey.API_VERSIONS and version not in self._served[key]:
            version = 0  # KIP-511
        elif frame.expects_no_answer:
            return None, "answered although nothing was to be"
        elif frame.message is None:
            return None, "answered although it cannot be decoded"
        if version not in self._served.get(key, ()):
            return None, "answered although it is not served"
        spec = API_SPECS[ApiKey(key)]
        try:
            header, start = decode_prefix(ResponseHeader, answer, spec.response_header_version(version))
            message = decode(spec.response_type(), answer, version, start)
        except DecodeError as error:
            return None, f"the answer is not what is declared: {error}"
        if header.correlation_id != frame.correlation_id:
            return message, f"the answer's correlation id is {header.correlation_id}"
        if not may_be_unknown(frame.message) and has_unknown_error(message):
            return message, "the answer says UNKNOWN_SERVER_ERROR"
        return message, ""

    def judge_close(self, frame: ReadFrame) -> str:
        if frame.message is None or frame.version not in self._served.get(frame.key, ()) or frame.expects_no_answer:
            return ""
        return "closed although it is served and can be decoded"


def has_unknown_error(answer: Message) -> bool:
    return any(getattr(each, "error_code", 0) == ErrorCode.UNKNOWN_SERVER_ERROR for each in structs_of(answer))


def may_be_unknown(request: Any) -> bool:
    """Whether Apache Kafka answers such a client error with UNKNOWN_SERVER_ERROR, as pybroker then does too."""
    if request is None:
        return False
    match request.MESSAGE.api_key:
        case ApiKey.FETCH | ApiKey.LIST_OFFSETS:
            return request.isolation_level not in (0, 1)
        case ApiKey.ELECT_LEADERS:
            return request.election_type not in (0, 1)
        case ApiKey.DESCRIBE_CLIENT_QUOTAS:
            return any(
                each.match_type not in (0, 1, 2) or (each.match_type == 0 and each.match is None)
                for each in request.components
            )
        case ApiKey.OFFSET_COMMIT | ApiKey.OFFSET_FETCH:
            # Version 0 keeps offsets in the metadata tree, and not everything can be a part of a path there.
            return not _can_be_in_a_path(request.group_id)
        case _:
            return False


def _can_be_in_a_path(name: str) -> bool:
    return name not in ("", ".", "..") and "/" not in name and name.isprintable()
