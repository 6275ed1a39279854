"""The tree that holds the cluster's metadata, with ZooKeeper's semantics, whoever keeps it.

`embedded_store.py` keeps it in SQLite for one broker, `zookeeper_store.py` in ZooKeeper for many, a model of ZooKeeper
in memory serves simulations; all answer to the same tests (`tests/support/in_process/metadata_store_suite.py`).

What a caller may rely on:

- Operations run in the order in which they were started, and their results come in that order: several may be started
  before the first is awaited, which is how one saves round trips and commits.
- A write's result comes when it is durable. (On a full disk one broker's own store takes what its start writes for
  written, up to `start_is_over`: the next start would write the same.)
- A watch is one-shot. Its event is delivered, as a plain call on the event loop, before the result of the operation
  that caused it and of every later one: who has read new data has been told of the change.
- Every version, zxid and sequence number means what it means in ZooKeeper (`Stat`).
"""

import abc
from asyncio import AbstractEventLoop, Future
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

__all__ = [
    "ANY_VERSION",
    "BadVersionError",
    "Check",
    "CheckResult",
    "ConnectionLossError",
    "Create",
    "CreateResult",
    "Delete",
    "DeleteResult",
    "EventType",
    "InvalidPathError",
    "MetadataStore",
    "MetadataStoreError",
    "NoChildrenForEphemeralsError",
    "NoNodeError",
    "NodeExistsError",
    "NotAuthorizedError",
    "NotEmptyError",
    "Operation",
    "OperationResult",
    "SessionEvent",
    "SessionExpiredError",
    "SetData",
    "SetDataResult",
    "Stat",
    "StoreClosedError",
    "StoreCorruptError",
    "StoreFullError",
    "StoreLockedError",
    "StoreUnreachableError",
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
"""As an expected version: whatever it is."""


class MetadataStoreError(Exception):
    """An operation on the tree failed. ``path`` is the node it was about, if it was about one."""

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
    """The session is gone, and its ephemeral nodes with it. Nothing works any more on this object."""


class ConnectionLossError(MetadataStoreError):
    """The connection broke before the answer: the write may have happened or not."""


class StoreClosedError(MetadataStoreError):
    """The store was closed."""


class StoreUnreachableError(MetadataStoreError):
    """There was no connection to the store in time, hence no session."""


class NotAuthorizedError(MetadataStoreError):
    """A node's ACL, or the store as a whole, does not let this session do that."""


class StoreWriteError(MetadataStoreError):
    """The store could not make the operation durable (say, the disk is full): it did not happen."""


class StoreFullError(StoreWriteError):
    """There is no room for it on the disk."""


class StoreCorruptError(MetadataStoreError):
    """What is in the store's file is not a tree of ours."""


class StoreLockedError(MetadataStoreError):
    """Another process has the store's file."""


@dataclass(frozen=True, slots=True)
class Stat:
    """What ZooKeeper says about a node beside its data. zxids number all changes of the tree, and only rise."""

    czxid: int
    """The change that created the node."""
    mzxid: int
    """The change that last set its data."""
    pzxid: int
    """The change that last created or deleted a child."""
    ctime_ms: int
    mtime_ms: int
    version: int
    """How often the data was set since the node was created."""
    cversion: int
    """How often a child was created or deleted."""
    ephemeral_owner: int
    """The session whose end deletes the node; 0: none."""
    data_length: int
    num_children: int


@dataclass(frozen=True, slots=True)
class Create:
    """Create a node under an existing parent. ``sequential`` appends ten digits that rise within the parent."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class SetData:
    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Let the whole multi fail when the node does not exist or has another version."""

    path: str
    version: int


Operation = Create | SetData | Delete | Check


@dataclass(frozen=True, slots=True)
class CreateResult:
    path: str
    """The name that was created: with its number, if it is sequential."""


@dataclass(frozen=True, slots=True)
class SetDataResult:
    stat: Stat


@dataclass(frozen=True, slots=True)
class DeleteResult:
    pass


@dataclass(frozen=True, slots=True)
class CheckResult:
    pass


OperationResult = CreateResult | SetDataResult | DeleteResult | CheckResult


class EventType(Enum):
    CREATED = "created"
    DELETED = "deleted"
    DATA_CHANGED = "data changed"
    CHILDREN_CHANGED = "children changed"


@dataclass(frozen=True, slots=True)
class WatchEvent:
    type: EventType
    path: str


Watch = Callable[[WatchEvent], None]
"""Called once, on the event loop. The same callable set twice on one node before an event is called once."""


class SessionEvent(Enum):
    CONNECTED = "connected"
    DISCONNECTED = "disconnected"
    """The store is out of reach; the session may still live. Writes that were under way fail with ConnectionLossError,
    reads that were are asked again, and what is started from now on waits for the connection. Watches stay, and tell
    what they missed after CONNECTED."""
    EXPIRED = "expired"
    """The session is over: ephemerals are or will be gone, no operation succeeds any more, no watch tells anything."""
    RENEWED = "renewed"
    """There is another session (`renewing_store.py`). Without such a store an object ends with its session."""


class MetadataStore(abc.ABC):
    """A session on the tree. Methods are called on the event loop only; each starts an operation and returns at once
    with the future of its result, which fails with a `MetadataStoreError`."""

    @property
    @abc.abstractmethod
    def session_id(self) -> int:
        """Names this session as `Stat.ephemeral_owner` does; no two sessions on a tree share one."""

    @property
    def session_timeout_ms(self) -> int:
        """For how long the session outlasts its last sign of life; 0: not at all."""
        return 0

    @abc.abstractmethod
    def create(
        self, path: str, data: bytes = b"", *, ephemeral: bool = False, sequential: bool = False
    ) -> "Future[str]":
        """Create a node; gives its path. NoNodeError: no parent; NodeExistsError; NoChildrenForEphemeralsError."""

    @abc.abstractmethod
    def get(self, path: str, watch: Watch | None = None) -> "Future[tuple[bytes, Stat]]":
        """Data and stat; ``watch`` is told when the data is set or the node deleted. NoNodeError sets no watch."""

    @abc.abstractmethod
    def exists(self, path: str, watch: Watch | None = None) -> "Future[Stat | None]":
        """The stat, or None. ``watch`` is told when the node is created, set or deleted."""

    @abc.abstractmethod
    def children(self, path: str, watch: Watch | None = None) -> "Future[list[str]]":
        """The children's names, sorted. ``watch`` is told when a child comes or goes or the node is deleted.
        NoNodeError sets no watch."""

    @abc.abstractmethod
    def set(self, path: str, data: bytes, version: int = ANY_VERSION) -> "Future[Stat]":
        """Set a node's data. NoNodeError, BadVersionError."""

    @abc.abstractmethod
    def delete(self, path: str, version: int = ANY_VERSION) -> "Future[None]":
        """Delete a node without children. NoNodeError, BadVersionError, NotEmptyError."""

    @abc.abstractmethod
    def multi(self, operations: Sequence[Operation]) -> "Future[list[OperationResult]]":
        """All of ``operations`` in their order, or none: then the error is that of the first that failed, and its
        ``operation_index`` says which. All share one zxid."""

    @abc.abstractmethod
    def on_session_event(self, listener: Callable[[SessionEvent], None]) -> None:
        """Have ``listener`` called on the event loop with every later change of the session."""

    def start_is_over(self) -> None:  # noqa: B027  (most stores have nothing to do)
        """From now on others ask for what is written. Only a store that a full disk can keep from writing minds."""

    @abc.abstractmethod
    async def close(self) -> None:
        """End the session: what was started before finishes, ephemeral nodes go."""

    def kill(self) -> None:
        """End as a crash of the process does: what waits is never answered, nobody is told, ephemeral nodes stay for as
        long as the session is thought to live. Blocks for a moment."""
        raise NotImplementedError


async def ensure(store: MetadataStore, path: str, data: bytes = b"") -> None:
    """Create ``path`` and what it lies under, unless it exists."""
    while True:
        try:
            await store.create(path, data)
        except NodeExistsError:
            return
        except ConnectionLossError:  # it may have been made
            continue
        except NoNodeError:
            await ensure(store, parent_of(path))
            continue
        return


def created_path(results: list[OperationResult]) -> str:
    """Of a write that is one Create."""
    (result,) = results
    assert isinstance(result, CreateResult)
    return result.path


def new_stat(results: list[OperationResult]) -> Stat:
    """Of a write that is one SetData."""
    (result,) = results
    assert isinstance(result, SetDataResult)
    return result.stat


def tell(loop: AbstractEventLoop, watch: Watch, event: WatchEvent) -> None:
    """A watch only posts an event. One that raises is a bug, and must not cost others their results."""
    try:
        watch(event)
    except Exception as error:
        loop.call_exception_handler({"message": f"watch on {event.path} raised", "exception": error})


def parent_of(path: str) -> str:
    """The path of a node's parent: ``/a`` of ``/a/b``, ``/`` of ``/a``."""
    head = path.rpartition("/")[0]
    return head or "/"


def check_path(path: str, *, sequential: bool = False) -> None:
    """Raise InvalidPathError unless ``path`` may name a node. Of a sequential node it may end with a slash."""
    if path == "/":
        return
    if not path.startswith("/"):
        raise InvalidPathError(path, "a path begins with /")
    parts = path[1:].split("/")
    if sequential and parts[-1] == "":
        parts.pop()
    if any(part in ("", ".", "..") for part in parts) or "\0" in path:
        raise InvalidPathError(path, "a path has no empty, . or .. parts and does not end with /")
