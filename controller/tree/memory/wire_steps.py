"""Carries out the requests of ZooKeeper's protocol on a tree in memory, and encodes the frames that answer them."""

from ..metadata_store import CreateResult, EventType, MetadataStoreError, SetDataResult, Watch, WatchEvent
from ..node_rights import Permission, digest_identity
from .jute import jute_buffer, jute_text, jute_texts
from .memory_tree import MemoryTree, TreeSession
from .wire_requests import (
    Authenticate,
    CloseSession,
    Exists,
    GetAcl,
    GetChildren,
    GetData,
    Multi,
    OpCode,
    Ping,
    Request,
    SetAcl,
    SetWatches,
    Sync,
    Unserved,
    Write,
)
from .wire_responses import (
    AUTH_FAILED,
    OK,
    UNIMPLEMENTED,
    encode_acl,
    encode_failed_multi,
    encode_multi,
    encode_reply,
    encode_stat,
    error_code,
)

__all__ = ["carry_out"]

_NO_NODE = -101


def carry_out(tree: MemoryTree, session: TreeSession, watch: Watch, xid: int, request: Request) -> bytes:
    """Run a request and return the frame of its response. A step of `MemoryTree.perform`.

    ``watch`` is told of changes of what the request watches; missed changes are told before the response.
    """
    code, body = OK, b""
    try:
        match request:
            case Multi(writes):
                body = _multi(tree, session, writes)
            case Unserved():
                code = UNIMPLEMENTED
            case Authenticate(scheme, credentials):
                is_taken = scheme == "digest" and tree.add_identity(session, digest_identity(credentials))
                code = OK if is_taken else AUTH_FAILED
            case Exists(path, is_watched):
                stat = tree.exists(session, path, watch if is_watched else None)
                code, body = (OK, encode_stat(stat)) if stat is not None else (_NO_NODE, b"")
            case SetWatches():
                _set_watches(tree, session, watch, request)
            case _:
                body = _body(tree, session, watch, request)
    except MetadataStoreError as error:
        code = error_code(error)
    return encode_reply(xid, tree.nodes.last_zxid, code, body)


def _body(tree: MemoryTree, session: TreeSession, watch: Watch, request: Request) -> bytes:
    """The body of a successful response. Raises MetadataStoreError."""
    match request:
        case Write(operation, opcode):
            (result,) = tree.write(session, [operation])
            match result:
                case CreateResult(path):
                    return jute_text(path) + (encode_stat(tree.nodes.stat(path)) if opcode is OpCode.CREATE2 else b"")
                case SetDataResult(stat):
                    return encode_stat(stat)
        case GetData(path, is_watched):
            data, stat = tree.get(session, path, watch if is_watched else None)
            return jute_buffer(data) + encode_stat(stat)
        case GetChildren(path, is_watched, with_stat):
            names = tree.children(session, path, watch if is_watched else None)
            return jute_texts(names) + (encode_stat(tree.nodes.stat(path)) if with_stat else b"")
        case GetAcl(path):
            return encode_acl(*tree.acl(session, path))
        case SetAcl(path, acl, version):
            return encode_stat(tree.set_acl(session, path, acl, version))
        case Sync(path):
            return jute_text(path)
        case CloseSession():
            tree.end(session)
        case Ping():
            pass
    return b""


def _multi(tree: MemoryTree, session: TreeSession, writes: tuple[Write, ...]) -> bytes:
    """A refused transaction is a successful response, too; it says which operation failed."""
    try:
        results = tree.write(session, [write.operation for write in writes])
    except MetadataStoreError as error:
        return encode_failed_multi(len(writes), error)
    return encode_multi([write.opcode for write in writes], results)


def _set_watches(tree: MemoryTree, session: TreeSession, watch: Watch, request: SetWatches) -> None:
    """Set watches again after a reconnection, or report what they missed."""

    def missed(kind: EventType, path: str) -> None:
        may_know = not nodes.contains(path) or session.rights.may(nodes.acl(path), Permission.READ)
        if session.owner is not None and may_know:
            event = WatchEvent(kind, path)
            session.owner.post(lambda: watch(event))

    nodes = tree.nodes
    for path in request.data:
        if not nodes.contains(path):
            missed(EventType.DELETED, path)
        elif nodes.stat(path).mzxid > request.seen_zxid:
            missed(EventType.DATA_CHANGED, path)
        else:
            session.watches.watch_data(path, watch)
    for path in request.missing:
        if nodes.contains(path):
            missed(EventType.CREATED, path)
        else:
            session.watches.watch_data(path, watch)
    for path in request.children:
        if not nodes.contains(path):
            missed(EventType.DELETED, path)
        elif nodes.stat(path).pzxid > request.seen_zxid:
            missed(EventType.CHILDREN_CHANGED, path)
        else:
            session.watches.watch_children(path, watch)
