"""Decodes the requests of ZooKeeper's clients."""

from collections.abc import Callable, Mapping
from dataclasses import field
from enum import IntEnum
from functools import partial

from ....base.frozen import frozen
from ..metadata_store import Acl, AclEntry, Check, Create, Delete, Operation, SetData
from .jute import JuteError, JuteReader

__all__ = [
    "Authenticate",
    "CloseSession",
    "Connect",
    "Exists",
    "GetAcl",
    "GetChildren",
    "GetData",
    "Multi",
    "OpCode",
    "Ping",
    "Request",
    "SetAcl",
    "SetWatches",
    "Sync",
    "Unserved",
    "Write",
    "decode_connect",
    "decode_request",
]


class OpCode(IntEnum):
    """The types of requests, as in ZooKeeper's ZooDefs.OpCode."""

    CREATE = 1
    DELETE = 2
    EXISTS = 3
    GET_DATA = 4
    SET_DATA = 5
    GET_ACL = 6
    SET_ACL = 7
    GET_CHILDREN = 8
    SYNC = 9
    PING = 11
    GET_CHILDREN2 = 12
    CHECK = 13
    MULTI = 14
    CREATE2 = 15
    RECONFIG = 16
    CHECK_WATCHES = 17
    REMOVE_WATCHES = 18
    CREATE_CONTAINER = 19
    CREATE_TTL = 21
    MULTI_READ = 22
    AUTH = 100
    SET_WATCHES = 101
    SASL = 102
    GET_EPHEMERALS = 103
    GET_ALL_CHILDREN_NUMBER = 104
    SET_WATCHES2 = 105
    ADD_WATCH = 106
    WHO_AM_I = 107
    CLOSE_SESSION = -11


@frozen
class Connect:
    """The first message of a connection. ``session_id``: 0 for a new session."""

    timeout_ms: int
    session_id: int
    password: bytes
    has_read_only: bool
    """Whether the client knows of read-only servers; then the response mentions them, too."""


@frozen
class Write:
    operation: Operation
    opcode: OpCode


@frozen
class Multi:
    writes: tuple[Write, ...]


@frozen
class Exists:
    path: str
    watch: bool


@frozen
class GetData:
    path: str
    watch: bool


@frozen
class GetChildren:
    path: str
    watch: bool
    with_stat: bool


@frozen
class GetAcl:
    path: str


@frozen
class SetAcl:
    path: str
    acl: Acl
    version: int


@frozen
class Sync:
    path: str


@frozen
class SetWatches:
    """The watches that a client had on its last connection, and the last zxid that it saw there."""

    seen_zxid: int
    data: tuple[str, ...]
    missing: tuple[str, ...]
    children: tuple[str, ...]


@frozen
class Authenticate:
    scheme: str
    credentials: bytes = field(repr=False)


@frozen
class Ping:
    pass


@frozen
class CloseSession:
    pass


@frozen
class Unserved:
    """A request of ZooKeeper's that this server does not carry out. Its body was not read."""


Request = (
    Write
    | Multi
    | Exists
    | GetData
    | GetChildren
    | GetAcl
    | SetAcl
    | Sync
    | SetWatches
    | Authenticate
    | Ping
    | CloseSession
    | Unserved
)

_EPHEMERAL, _SEQUENTIAL = 1, 2
_MAX_OPERATIONS = 10_000


def decode_connect(frame: bytes) -> Connect:
    """Raises JuteError."""
    reader = JuteReader(frame)
    reader.read_int()  # the version of the protocol, always 0
    reader.read_long()  # the last zxid that the client has seen
    timeout_ms, session_id, password = reader.read_int(), reader.read_long(), reader.read_buffer()
    has_read_only = not reader.is_at_end
    if has_read_only:
        reader.read_boolean()
    reader.end()
    return Connect(timeout_ms, session_id, password, has_read_only)


def decode_request(frame: bytes) -> tuple[int, Request]:
    """The client's number of the request (xid), and the request. Raises JuteError, also for an unknown type."""
    reader = JuteReader(frame)
    xid, number = reader.read_int(), reader.read_int()
    try:
        opcode = OpCode(number)
    except ValueError:
        raise JuteError(f"there is no request of type {number}") from None
    decode = _DECODERS.get(opcode)
    if decode is None:
        return xid, Unserved()
    request = decode(reader)
    if not isinstance(request, Unserved):
        reader.end()
    return xid, request


def _create(reader: JuteReader, opcode: OpCode) -> Request:
    path, data, acl = reader.read_text(), reader.read_buffer(), _acl(reader)
    flags = reader.read_int()
    if not 0 <= flags <= _EPHEMERAL | _SEQUENTIAL:
        return Unserved()  # containers and nodes that live for a time
    return Write(Create(path, data, bool(flags & _EPHEMERAL), bool(flags & _SEQUENTIAL), acl), opcode)


def _acl(reader: JuteReader) -> Acl:
    return tuple(
        AclEntry(reader.read_int(), reader.read_text(), reader.read_text()) for _ in range(reader.read_count())
    )


def _delete(reader: JuteReader) -> Write:
    return Write(Delete(reader.read_text(), reader.read_int()), OpCode.DELETE)


def _set_data(reader: JuteReader) -> Write:
    path, data = reader.read_text(), reader.read_buffer()
    return Write(SetData(path, data, reader.read_int()), OpCode.SET_DATA)


def _check(reader: JuteReader) -> Write:
    return Write(Check(reader.read_text(), reader.read_int()), OpCode.CHECK)


def _multi(reader: JuteReader) -> Request:
    writes: list[Write] = []
    while True:
        number, is_end, _error = reader.read_int(), reader.read_boolean(), reader.read_int()
        if is_end:
            return Multi(tuple(writes))
        decode = _IN_MULTI.get(number)
        if decode is None or len(writes) == _MAX_OPERATIONS:
            return Unserved()
        write = decode(reader)
        if not isinstance(write, Write):
            return Unserved()
        writes.append(write)


def _exists(reader: JuteReader) -> Exists:
    return Exists(reader.read_text(), reader.read_boolean())


def _get_data(reader: JuteReader) -> GetData:
    return GetData(reader.read_text(), reader.read_boolean())


def _get_children(reader: JuteReader, *, with_stat: bool) -> GetChildren:
    return GetChildren(reader.read_text(), reader.read_boolean(), with_stat)


def _get_acl(reader: JuteReader) -> GetAcl:
    return GetAcl(reader.read_text())


def _set_acl(reader: JuteReader) -> SetAcl:
    return SetAcl(reader.read_text(), _acl(reader), reader.read_int())


def _sync(reader: JuteReader) -> Sync:
    return Sync(reader.read_text())


def _set_watches(reader: JuteReader, *, has_persistent: bool) -> Request:
    seen_zxid = reader.read_long()
    data, missing, children = reader.read_texts(), reader.read_texts(), reader.read_texts()
    if has_persistent and (reader.read_texts() or reader.read_texts()):
        return Unserved()
    return SetWatches(seen_zxid, tuple(data), tuple(missing), tuple(children))


def _authenticate(reader: JuteReader) -> Authenticate:
    reader.read_int()
    return Authenticate(reader.read_text(), reader.read_buffer())


_IN_MULTI: Mapping[int, Callable[[JuteReader], Request]] = {
    OpCode.CREATE: partial(_create, opcode=OpCode.CREATE),
    OpCode.DELETE: _delete,
    OpCode.SET_DATA: _set_data,
    OpCode.CHECK: _check,
}
_DECODERS: Mapping[int, Callable[[JuteReader], Request]] = {
    OpCode.CREATE: partial(_create, opcode=OpCode.CREATE),
    OpCode.CREATE2: partial(_create, opcode=OpCode.CREATE2),
    OpCode.DELETE: _delete,
    OpCode.SET_DATA: _set_data,
    OpCode.MULTI: _multi,
    OpCode.EXISTS: _exists,
    OpCode.GET_DATA: _get_data,
    OpCode.GET_CHILDREN: partial(_get_children, with_stat=False),
    OpCode.GET_CHILDREN2: partial(_get_children, with_stat=True),
    OpCode.GET_ACL: _get_acl,
    OpCode.SET_ACL: _set_acl,
    OpCode.SYNC: _sync,
    OpCode.SET_WATCHES: partial(_set_watches, has_persistent=False),
    OpCode.SET_WATCHES2: partial(_set_watches, has_persistent=True),
    OpCode.AUTH: _authenticate,
    OpCode.PING: lambda _: Ping(),
    OpCode.CLOSE_SESSION: lambda _: CloseSession(),
}
