"""The interface of the metadata tree, with ZooKeeper's semantics.

`embedded_store.py` stores the tree in SQLite for one broker, `zookeeper_store.py` in ZooKeeper for many; simulations
use a model in memory. All pass the same tests (`tests/support/in_process/metadata_store_suite.py`).
"""

import abc
import re
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from enum import Enum

from ...base.frozen import frozen

__all__ = [
    "ANY_VERSION",
    "Acl",
    "AclEntry",
    "BadVersionError",
    "Check",
    "CheckResult",
    "ConnectionLossError",
    "Create",
    "CreateResult",
    "Delete",
    "DeleteResult",
    "EventType",
    "InvalidAclError",
    "InvalidPathError",
    "MetadataStore",
    "MetadataStoreError",
    "NoChildrenForEphemeralsError",
    "NoNodeError",
    "NoResourcesError",
    "NodeExistsError",
    "NotAuthorizedError",
    "NotEmptyError",
    "Operation",
    "OperationResult",
    "ServerNotTrustedError",
    "SessionEvent",
    "SessionExpiredError",
    "SetData",
    "SetDataResult",
    "Stat",
    "StoreClosedError",
    "StoreCorruptError",
    "StoreFullError",
    "StoreLockedError",
    "StorePathError",
    "StoreUnreachableError",
    "StoreVersionError",
    "StoreWriteError",
    "Watch",
    "WatchEvent",
    "check_path",
    "created_path",
    "ensure",
    "new_stat",
    "parent_of",
    "tell",
]

ANY_VERSION = -1
_PLAIN_PATH = re.compile(r"(?:/(?!\.{1,2}(?:/|\Z))[^/\0]+)+")
"""Expect no particular version."""


class MetadataStoreError(Exception):
    """An operation on the tree failed. ``path`` is its node, if it has one."""

    def __init__(self, path: str | None = None, reason: str | None = None) -> None:
        self.path = path
        self.reason = reason
        self.operation_index: int | None = None
        super().__init__(": ".join(part for part in (path, reason) if part))


class NoNodeError(MetadataStoreError):
    """The node, or for a create its parent, does not exist."""


class NodeExistsError(MetadataStoreError):
    """The node to be created exists."""


class BadVersionError(MetadataStoreError):
    """The node's version is not the expected one."""


class NotEmptyError(MetadataStoreError):
    """The node to be deleted has children."""


class NoChildrenForEphemeralsError(MetadataStoreError):
    """The parent of the node to be created is ephemeral."""


class InvalidPathError(MetadataStoreError, ValueError):
    """Not a path: it must be absolute, without empty, ``.`` or ``..`` parts and without a slash at its end."""


class SessionExpiredError(MetadataStoreError):
    """The session is over, with its ephemeral nodes. Every operation on this object fails."""


class ConnectionLossError(MetadataStoreError):
    """The connection broke before the response: the write may have happened or not."""


class StoreClosedError(MetadataStoreError):
    """The store was closed."""


class StoreUnreachableError(MetadataStoreError):
    """No session could be opened. ``was_reached``: a server accepted the connection."""

    def __init__(self, path: str | None = None, reason: str | None = None, *, was_reached: bool = False) -> None:
        super().__init__(path, reason)
        self.was_reached = was_reached


class NoResourcesError(StoreUnreachableError):
    """The process may have no more files or threads, so no session can be opened."""


class ServerNotTrustedError(StoreUnreachableError):
    """The server's certificate is not trusted."""


class NotAuthorizedError(MetadataStoreError):
    """The ACL of a node, or the store as a whole, forbids the operation to this session."""


class InvalidAclError(MetadataStoreError):
    """An access control list is empty, or has an entry of an unknown scheme or a malformed one."""


class StoreWriteError(MetadataStoreError):
    """The store could not make the operation durable, for example on a full disk. It did not happen."""


class StorePathError(StoreWriteError):
    """The file of the store cannot be opened at its path."""


class StoreFullError(StoreWriteError):
    """The disk is full."""


class StoreCorruptError(MetadataStoreError):
    """The file of the store does not contain a valid tree."""


class StoreVersionError(StoreCorruptError):
    """The file of the store was written by another version of pybroker."""


class StoreLockedError(MetadataStoreError):
    """Another process uses the file of the store."""


@frozen
class Stat:
    """The attributes of a node. zxids number all changes of the tree in rising order."""

    czxid: int
    """The change that created the node."""
    mzxid: int
    """The change that last set its data."""
    pzxid: int
    """The change that last created or deleted a child."""
    ctime_ms: int
    mtime_ms: int
    version: int
    """The number of times the data was set since the creation."""
    cversion: int
    """The number of times a child was created or deleted."""
    ephemeral_owner: int
    """The session whose end deletes the node; 0: none."""
    data_length: int
    num_children: int
    acl_version: int = 0
    """The number of times the access control list was set since the creation."""


@frozen
class AclEntry:
    """``permissions`` for those whom ``scheme`` and ``id`` name, as in ZooKeeper."""

    permissions: int
    scheme: str
    id: str


Acl = tuple[AclEntry, ...]
"""The access control list of a node."""


@frozen
class Create:
    """Create a node under an existing parent. ``sequential``: append a rising number of ten digits.

    ``acl`` is for trees in memory only; the other stores choose it. None: everyone may do everything.
    """

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False
    acl: Acl | None = None


@frozen
class SetData:
    path: str
    data: bytes
    version: int = ANY_VERSION


@frozen
class Delete:
    path: str
    version: int = ANY_VERSION


@frozen
class Check:
    """Fail the whole transaction when the node does not exist or has another version."""

    path: str
    version: int


Operation = Create | SetData | Delete | Check


@frozen
class CreateResult:
    path: str
    """The path created, with the number of a sequential node."""


@frozen
class SetDataResult:
    stat: Stat


@frozen
class DeleteResult:
    pass


@frozen
class CheckResult:
    pass


OperationResult = CreateResult | SetDataResult | DeleteResult | CheckResult


class EventType(Enum):
    CREATED = "created"
    DELETED = "deleted"
    DATA_CHANGED = "data changed"
    CHILDREN_CHANGED = "children changed"


@frozen
class WatchEvent:
    type: EventType
    path: str


Watch = Callable[[WatchEvent], None]
"""Called once, on the event loop; also only once when it was set twice on a node before an event."""


class SessionEvent(Enum):
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    """The store is unreachable; the session may still live. Writes under way fail with ConnectionLossError, reads are
    repeated, and new operations wait for the connection. Watches stay, and report missed changes after CONNECTED."""
    EXPIRED = "expired"
    """The session is over: its ephemeral nodes vanish, every operation fails, no watch fires."""
    RENEWED = "renewed"
    """There is a new session; only a `RenewingStore` sends this."""


class MetadataStore(abc.ABC):
    """A session on the tree.

    Methods are called on the event loop only. Each starts an operation and returns a future of its result at once; the
    future fails with a `MetadataStoreError`.

    Guarantees:

    - Operations run, and return their results, in the order in which they were started. To save round trips and
      commits, start several before awaiting the first.
    - The result of a write comes when it is durable. (On a full disk the embedded store accepts writes of a broker's
      start until `start_is_over`; the next start would write the same.)
    - A watch fires once, as a plain call on the event loop, before the results of the operation that caused it and of
      later operations. So a caller that has read new data has been told about the change.
    - Versions, zxids and sequence numbers have the meaning they have in ZooKeeper (`Stat`).
    """

    @property
    @abc.abstractmethod
    def session_id(self) -> int:
        """The id of this session, as in `Stat.ephemeral_owner`; unique among the sessions of a tree."""

    @property
    def session_timeout_ms(self) -> int:
        """How long the session survives silence of its owner; 0: not at all."""
        return 0

    @property
    def is_session_lost(self) -> bool:
        """Whether the session is over, or may be: the store has sent nothing for the session timeout."""
        return False

    @abc.abstractmethod
    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "Future[str]":
        """Create a node; the result is its path. NoNodeError, NodeExistsError, NoChildrenForEphemeralsError."""

    @abc.abstractmethod
    def get(self, path: str, watch: Watch | None = None) -> "Future[tuple[bytes, Stat]]":
        """Data and stat; ``watch`` fires when the data is set or the node deleted. NoNodeError sets no watch."""

    @abc.abstractmethod
    def exists(self, path: str, watch: Watch | None = None) -> "Future[Stat | None]":
        """The stat, or None. ``watch`` fires when the node is created, set or deleted."""

    @abc.abstractmethod
    def children(self, path: str, watch: Watch | None = None) -> "Future[list[str]]":
        """The names of the children, sorted. ``watch`` fires when a child is created or deleted, or the node deleted.
        NoNodeError sets no watch."""

    @abc.abstractmethod
    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> "Future[Stat]":
        """Set a node's data. NoNodeError, BadVersionError."""

    @abc.abstractmethod
    def delete(self, path: str, version: int = ANY_VERSION) -> "Future[None]":
        """Delete a node without children. NoNodeError, BadVersionError, NotEmptyError."""

    @abc.abstractmethod
    def multi(self, operations: Sequence[Operation]) -> "Future[list[OperationResult]]":
        """Do all of ``operations`` in order, or none. The error is that of the first failed operation, with its
        ``operation_index``. All share one zxid."""

    @abc.abstractmethod
    def on_session_event(self, listener: Callable[[SessionEvent], None]) -> None:
        """Call ``listener`` on the event loop with every later change of the session."""

    def start_is_over(self) -> None:  # noqa: B027  (most stores have nothing to do)
        """Note the end of the broker's start; only the embedded store on a full disk needs to know it."""

    async def expire(self) -> None:
        """End the session as after a long silence: its owner learns that it has expired. For tests. Raises
        MetadataStoreError when the session cannot expire, or the store cannot be reached."""
        raise MetadataStoreError(None, "a broker with the embedded metadata store has no session that expires")

    @abc.abstractmethod
    async def close(self) -> None:
        """End the session: operations under way finish, ephemeral nodes are deleted."""

    def kill(self) -> None:
        """End as a crash of the process does: waiting operations get no result, ephemeral nodes stay until the session
        expires. Blocks for a moment."""
        raise NotImplementedError


async def ensure(store: MetadataStore, path: str, data: bytes = b"") -> None:
    """Create ``path`` and its parents, unless they exist."""
    while True:
        try:
            await store.create(path, data)
        except NodeExistsError:
            return
        except ConnectionLossError:  # it may have been created
            continue
        except NoNodeError:
            await ensure(store, parent_of(path))
            continue
        return


def created_path(results: list[OperationResult]) -> str:
    """The created path, from the results of a single Create."""
    (result,) = results
    assert isinstance(result, CreateResult)
    return result.path


def new_stat(results: list[OperationResult]) -> Stat:
    """The new stat, from the results of a single SetData."""
    (result,) = results
    assert isinstance(result, SetDataResult)
    return result.stat


def tell(loop: AbstractEventLoop, watch: Watch, event: WatchEvent) -> None:
    """Call a watch. A watch that raises is a bug, and must not stop the delivery of other results."""
    try:
        watch(event)
    except Exception as error:
        loop.call_exception_handler({"message": f"watch on {event.path} raised", "exception": error})


def parent_of(path: str) -> str:
    """The path of a node's parent: ``/a`` of ``/a/b``, ``/`` of ``/a``."""
    head = path.rpartition("/")[0]
    return head or "/"


def check_path(path: str, *, sequential: bool = False) -> None:
    """Raises InvalidPathError unless ``path`` is a valid path; that of a sequential node may end with a slash."""
    if path == "/" or _PLAIN_PATH.fullmatch(path) is not None:
        return
    if not path.startswith("/"):
        raise InvalidPathError(path, "a path must begin with /")
    parts = path[1:].split("/")
    if sequential and parts[-1] == "":
        parts.pop()
    if any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise InvalidPathError(path, "a path must not have empty, . or .. parts, or end with /")
