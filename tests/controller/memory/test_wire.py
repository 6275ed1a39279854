"""ZooKeeper's wire protocol against kazoo's own encoding and decoding, and against frames that are no messages."""

import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kazoo import exceptions as kazoo_errors
from kazoo.protocol import serialization as kazoo
from kazoo.protocol.states import ZnodeStat
from kazoo.security import ACL, Id
from pybroker.controller.tree.memory.jute import JuteError, jute_texts
from pybroker.controller.tree.memory.wire_requests import (
    Authenticate,
    CloseSession,
    Connect,
    Exists,
    GetAcl,
    GetChildren,
    GetData,
    Multi,
    OpCode,
    Ping,
    SetAcl,
    SetWatches,
    Sync,
    Unserved,
    Write,
    decode_connect,
    decode_request,
)
from pybroker.controller.tree.memory.wire_responses import (
    OK,
    encode_acl,
    encode_connected,
    encode_event,
    encode_failed_multi,
    encode_multi,
    encode_reply,
    encode_stat,
    is_failed_login,
)
from pybroker.controller.tree.metadata_store import (
    Acl,
    AclEntry,
    BadVersionError,
    Check,
    CheckResult,
    Create,
    CreateResult,
    Delete,
    DeleteResult,
    EventType,
    Operation,
    OperationResult,
    SetData,
    SetDataResult,
    Stat,
    WatchEvent,
)
from support.examples import examples

SOME = settings(max_examples=examples(30))
INTS = st.integers(-(2**31), 2**31 - 1)
LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(max_size=20)
DATA = st.binary(max_size=40)
PATHS = TEXTS.map(lambda text: f"/{text}")
STATS = st.builds(Stat, LONGS, LONGS, LONGS, LONGS, LONGS, INTS, INTS, LONGS, INTS, INTS, INTS)
ACLS = st.lists(st.builds(AclEntry, INTS, TEXTS, TEXTS), max_size=2).map(tuple)
CREATES = st.builds(Create, PATHS, DATA, st.booleans(), st.booleans(), ACLS)
OPERATIONS = st.one_of(
    CREATES, st.builds(SetData, PATHS, DATA, INTS), st.builds(Delete, PATHS, INTS), st.builds(Check, PATHS, INTS)
)


def kazoo_acl(acl: Acl) -> list[ACL]:
    return [ACL(entry.permissions, Id(entry.scheme, entry.id)) for entry in acl]


def as_kazoo(operation: Operation) -> Any:
    match operation:
        case Create(path, data, ephemeral, sequential, acl):
            return kazoo.Create(path, data, kazoo_acl(acl or ()), ephemeral | sequential << 1)
        case SetData(path, data, version):
            return kazoo.SetData(path, data, version)
        case Delete(path, version):
            return kazoo.Delete(path, version)
        case Check(path, version):
            return kazoo.CheckVersion(path, version)


def as_write(operation: Operation) -> Write:
    return Write(operation, OpCode(as_kazoo(operation).type))


SERIALIZED: dict[type, Callable[[Any], Any]] = {
    Write: lambda request: as_kazoo(request.operation),
    Multi: lambda request: kazoo.Transaction([as_kazoo(write.operation) for write in request.writes]),
    Exists: lambda request: kazoo.Exists(request.path, request.watch),
    GetData: lambda request: kazoo.GetData(request.path, request.watch),
    GetChildren: lambda request: (kazoo.GetChildren2 if request.with_stat else kazoo.GetChildren)(
        request.path, request.watch
    ),
    GetAcl: lambda request: kazoo.GetACL(request.path),
    SetAcl: lambda request: kazoo.SetACL(request.path, kazoo_acl(request.acl), request.version),
    Sync: lambda request: kazoo.Sync(request.path),
    Authenticate: lambda request: kazoo.Auth(0, request.scheme, request.credentials.decode()),
    Ping: lambda _: kazoo.PingInstance,
    CloseSession: lambda _: kazoo.CloseInstance,
}
"""How kazoo writes each request. Kazoo has no check alone, and ZooKeeper takes none."""
REQUESTS = st.one_of(
    st.one_of(OPERATIONS).filter(lambda operation: not isinstance(operation, Check)).map(as_write),
    st.lists(OPERATIONS, max_size=5).map(lambda operations: Multi(tuple(map(as_write, operations)))),
    st.builds(Exists, PATHS, st.booleans()),
    st.builds(GetData, PATHS, st.booleans()),
    st.builds(GetChildren, PATHS, st.booleans(), st.booleans()),
    st.builds(GetAcl, PATHS),
    st.builds(SetAcl, PATHS, ACLS, INTS),
    st.builds(Sync, PATHS),
    st.builds(Authenticate, st.sampled_from(["digest", "ip"]), TEXTS.map(str.encode)),
    st.just(Ping()),
    st.just(CloseSession()),
)


def frame_of(xid: int, opcode: int, body: bytes) -> bytes:
    return struct.pack(">ii", xid, opcode) + body


def frame_by_kazoo(xid: int, request: Any) -> bytes:
    message = SERIALIZED[type(request)](request)
    return frame_of(xid, message.type, bytes(message.serialize()))


# -- requests


@SOME
@given(INTS, REQUESTS)
def test_requests_of_kazoo_are_decoded(xid: int, request: Any) -> None:
    assert decode_request(frame_by_kazoo(xid, request)) == (xid, request)


@SOME
@given(PATHS, DATA)
def test_create_with_stat_is_decoded(path: str, data: bytes) -> None:
    message = kazoo.Create2(path, data, [], 0)
    expected = Write(Create(path, data, acl=()), OpCode.CREATE2)
    assert decode_request(frame_of(1, message.type, bytes(message.serialize()))) == (1, expected)


@SOME
@given(INTS, LONGS, DATA, st.booleans())
def test_first_message_is_decoded(timeout_ms: int, session_id: int, password: bytes, has_read_only: bool) -> None:
    frame = bytes(kazoo.Connect(0, 0, timeout_ms, session_id, password, False).serialize())
    expected = Connect(timeout_ms, session_id, password, has_read_only)
    assert decode_connect(frame if has_read_only else frame[:-1]) == expected


@SOME
@given(LONGS, st.lists(PATHS, max_size=3), st.lists(PATHS, max_size=3), st.lists(PATHS, max_size=3))
def test_watches_of_an_earlier_connection_are_decoded(
    seen: int, data: list[str], missing: list[str], children: list[str]
) -> None:
    body = kazoo.long_struct.pack(seen) + jute_texts(data) + jute_texts(missing) + jute_texts(children)
    expected = SetWatches(seen, tuple(data), tuple(missing), tuple(children))
    assert decode_request(frame_of(-8, OpCode.SET_WATCHES, body)) == (-8, expected)
    none = jute_texts([])
    assert decode_request(frame_of(-8, OpCode.SET_WATCHES2, body + none + none)) == (-8, expected)
    assert decode_request(frame_of(-8, OpCode.SET_WATCHES2, body + jute_texts(["/a"]) + none))[1] == Unserved()


@SOME
@given(REQUESTS, st.data())
def test_cut_and_overlong_frames_are_refused(request: Any, data: st.DataObject) -> None:
    frame = frame_by_kazoo(1, request)
    cut = frame[: data.draw(st.integers(0, len(frame) - 1))]
    with pytest.raises(JuteError):
        decode_request(cut)
    with pytest.raises(JuteError):
        decode_request(frame + b"\0")


@SOME
@given(st.sampled_from(OpCode), st.binary(max_size=60))
def test_any_bytes_are_a_request_or_refused(opcode: OpCode, body: bytes) -> None:
    with suppress(JuteError):
        decode_request(frame_of(1, opcode, body))
    with suppress(JuteError):
        decode_connect(body)


def test_request_of_an_unknown_type_is_refused_and_a_list_cannot_be_longer_than_its_frame() -> None:
    with pytest.raises(JuteError, match="no request of type 4711"):
        decode_request(frame_of(1, 4711, b""))
    endless = kazoo.long_struct.pack(0) + kazoo.int_struct.pack(2**31 - 1)
    with pytest.raises(JuteError, match="longer than its frame"):
        decode_request(frame_of(1, OpCode.SET_WATCHES, endless))
    assert decode_request(frame_of(1, OpCode.ADD_WATCH, b"anything")) == (1, Unserved())


# -- responses


def read_reply(frame: bytes) -> tuple[kazoo.ReplyHeader, bytes]:
    size, rest = frame[:4], frame[4:]
    assert int.from_bytes(size, "big") == len(rest)
    header, offset = kazoo.ReplyHeader.deserialize(rest, 0)
    return header, rest[offset:]


def znode_stat(stat: Stat) -> ZnodeStat:
    return ZnodeStat(
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


@SOME
@given(INTS, LONGS, INTS, STATS, ACLS)
def test_kazoo_reads_stats_and_acls(xid: int, zxid: int, code: int, stat: Stat, acl: Acl) -> None:
    header, body = read_reply(encode_reply(xid, zxid, code, encode_stat(stat)))
    assert header == (xid, zxid, code)
    assert kazoo.SetData.deserialize(body, 0) == znode_stat(stat)
    assert is_failed_login(encode_reply(xid, zxid, code)) == (code == -115)
    assert kazoo.GetACL.deserialize(encode_acl(acl, stat), 0) == (kazoo_acl(acl), znode_stat(stat))


@SOME
@given(INTS, LONGS, DATA, st.booleans())
def test_kazoo_reads_the_beginning_of_a_session(
    timeout_ms: int, session_id: int, password: bytes, has_read_only: bool
) -> None:
    frame = encode_connected(timeout_ms, session_id, password, has_read_only=has_read_only)
    connected, end = kazoo.Connect.deserialize(frame[4:], 0)
    assert (connected.time_out, connected.session_id, connected.passwd) == (timeout_ms, session_id, password)
    assert end == len(frame) - 4


@SOME
@given(st.sampled_from(EventType), PATHS)
def test_kazoo_reads_events(kind: EventType, path: str) -> None:
    header, body = read_reply(encode_event(WatchEvent(kind, path)))
    assert header == (-1, -1, OK)
    watch, end = kazoo.Watch.deserialize(body, 0)
    assert (watch.type, watch.state, watch.path) == (list(EventType).index(kind) + 1, 3, path)
    assert end == len(body)


@SOME
@given(st.lists(st.tuples(OPERATIONS, STATS), max_size=5))
def test_kazoo_reads_the_results_of_transactions(pairs: list[tuple[Operation, Stat]]) -> None:
    results: list[OperationResult] = []
    expected: list[object] = []
    for operation, stat in pairs:
        match operation:
            case Create(path):
                results.append(CreateResult(path))
                expected.append(path)
            case SetData():
                results.append(SetDataResult(stat))
                expected.append(znode_stat(stat))
            case Delete():
                results.append(DeleteResult())
                expected.append(True)
            case Check():
                results.append(CheckResult())
                expected.append(True)
    body = encode_multi([as_write(operation).opcode for operation, _ in pairs], results)
    assert kazoo.Transaction.deserialize(body, 0) == expected


@SOME
@given(st.integers(1, 6), st.data())
def test_kazoo_reads_which_operation_failed_a_transaction(count: int, data: st.DataObject) -> None:
    error = BadVersionError("/a")
    error.operation_index = failed = data.draw(st.integers(0, count - 1))
    results = kazoo.Transaction.deserialize(encode_failed_multi(count, error), 0)
    kinds = [kazoo_errors.RolledBackError] * failed
    kinds += [kazoo_errors.BadVersionError, *[kazoo_errors.RuntimeInconsistency] * (count - 1 - failed)]
    assert [type(result) for result in results] == kinds
