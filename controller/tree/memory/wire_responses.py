"""Encodes responses and watch events for ZooKeeper's clients, as whole frames."""

import struct
from collections.abc import Sequence

from ..metadata_store import (
    Acl,
    BadVersionError,
    CreateResult,
    EventType,
    InvalidAclError,
    InvalidPathError,
    MetadataStoreError,
    NoChildrenForEphemeralsError,
    NodeExistsError,
    NoNodeError,
    NotAuthorizedError,
    NotEmptyError,
    OperationResult,
    SessionExpiredError,
    SetDataResult,
    Stat,
    StoreFullError,
    WatchEvent,
)
from .jute import jute_buffer, jute_text
from .wire_requests import OpCode

__all__ = [
    "AUTH_FAILED",
    "OK",
    "UNIMPLEMENTED",
    "encode_acl",
    "encode_connected",
    "encode_event",
    "encode_failed_multi",
    "encode_multi",
    "encode_reply",
    "encode_stat",
    "error_code",
    "is_failed_login",
]

OK, UNIMPLEMENTED, AUTH_FAILED = 0, -6, -115
_SYSTEM_ERROR, _RUNTIME_INCONSISTENCY = -1, -2
_CODES: dict[type[MetadataStoreError], int] = {
    InvalidPathError: -8,
    NoNodeError: -101,
    NotAuthorizedError: -102,
    BadVersionError: -103,
    NoChildrenForEphemeralsError: -108,
    NodeExistsError: -110,
    NotEmptyError: -111,
    SessionExpiredError: -112,
    InvalidAclError: -114,
    StoreFullError: -125,
}
_EVENT_TYPES = {
    EventType.CREATED: 1,
    EventType.DELETED: 2,
    EventType.DATA_CHANGED: 3,
    EventType.CHILDREN_CHANGED: 4,
}
_EVENT_XID, _EVENT_ZXID, _SYNC_CONNECTED = -1, -1, 3

_SIZE = struct.Struct(">i")
_HEADER = struct.Struct(">iqi")
_CONNECTED = struct.Struct(">iiq")
_MULTI_HEADER = struct.Struct(">i?i")
_EVENT = struct.Struct(">ii")
_STAT = struct.Struct(">qqqqiiiqiiq")


def encode_connected(timeout_ms: int, session_id: int, password: bytes, *, has_read_only: bool) -> bytes:
    """The response to the first message. A timeout of 0 says that the session is over."""
    body = _CONNECTED.pack(0, timeout_ms, session_id) + jute_buffer(password)
    return jute_buffer(body + b"\0" if has_read_only else body)


def encode_reply(xid: int, zxid: int, code: int, body: bytes = b"") -> bytes:
    return jute_buffer(_HEADER.pack(xid, zxid, code) + body)


def is_failed_login(reply: bytes) -> bool:
    code: int = _HEADER.unpack_from(reply, _SIZE.size)[2]
    return code == AUTH_FAILED


def encode_event(event: WatchEvent) -> bytes:
    body = _EVENT.pack(_EVENT_TYPES[event.type], _SYNC_CONNECTED) + jute_text(event.path)
    return encode_reply(_EVENT_XID, _EVENT_ZXID, OK, body)


def encode_stat(stat: Stat) -> bytes:
    return _STAT.pack(
        stat.czxid,
        stat.mzxid,
        stat.ctime_ms,
        stat.mtime_ms,
        stat.version,
        stat.cversion,
        stat.acl_version,
        stat.ephemeral_owner,
        stat.data_length,
        stat.num_children,
        stat.pzxid,
    )


def encode_acl(acl: Acl, stat: Stat) -> bytes:
    entries = [_SIZE.pack(each.permissions) + jute_text(each.scheme) + jute_text(each.id) for each in acl]
    return _SIZE.pack(len(acl)) + b"".join(entries) + encode_stat(stat)


def encode_multi(opcodes: Sequence[OpCode], results: Sequence[OperationResult]) -> bytes:
    """The results of a transaction."""
    parts: list[bytes] = []
    for opcode, result in zip(opcodes, results, strict=True):
        parts.append(_MULTI_HEADER.pack(opcode, False, OK))
        match result:
            case CreateResult(path):
                parts.append(jute_text(path))
            case SetDataResult(stat):
                parts.append(encode_stat(stat))
            case _:
                pass
    return b"".join(parts) + _END_OF_MULTI


def encode_failed_multi(count: int, error: MetadataStoreError) -> bytes:
    """The results of a refused transaction of ``count`` operations: an error code for each."""
    failed = error.operation_index or 0
    parts: list[bytes] = []
    for index in range(count):
        code = OK if index < failed else error_code(error) if index == failed else _RUNTIME_INCONSISTENCY
        parts.append(_MULTI_HEADER.pack(-1, False, code) + _SIZE.pack(code))
    return b"".join(parts) + _END_OF_MULTI


_END_OF_MULTI = _MULTI_HEADER.pack(-1, True, -1)


def error_code(error: MetadataStoreError) -> int:
    """ZooKeeper's code of an error."""
    return next((code for kind, code in _CODES.items() if isinstance(error, kind)), _SYSTEM_ERROR)
