"""A cluster's tree as one store keeps it, to be written into another.

What lives only as long as brokers do (ephemeral nodes) is left out, and so are notifications: they were for brokers
that are down, and their numbers would be given again. Nodes begin anew at version 0, which brokers do not remember
either; only where a version counts for itself (`_COUNTING`) it is kept.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from . import znodes
from .config_tree import all_found
from .metadata_store import (
    BadVersionError,
    Check,
    ConnectionLossError,
    Create,
    MetadataStore,
    MetadataStoreError,
    NoNodeError,
    Operation,
    SetData,
    parent_of,
)
from .znodes import TopicInfo

__all__ = ["CopiedNode", "TreeCopy", "read_tree", "roots_present", "write_tree"]

Item = TypeVar("Item")

_ROOTS = (
    "/admin",
    "/brokers",
    "/cluster",
    "/config",
    "/consumers",
    "/controller",
    "/controller_epoch",
    "/delegation_token",
    "/feature",
    "/isr_change_notification",
    "/kafka-acl",
    "/kafka-acl-changes",
    "/kafka-acl-extended",
    "/kafka-acl-extended-changes",
    "/latest_producer_id_block",
    "/log_dir_event_notification",
    "/migration",
)
"""What is Kafka's of a tree that others may use, too."""

_NOTIFICATIONS = (
    znodes.CONFIG_CHANGES_PATH,
    znodes.ISR_CHANGE_PATH,
    znodes.LOG_DIR_EVENT_PATH,
    "/kafka-acl-changes",
    "/kafka-acl-extended-changes",
    "/delegation_token/token_changes",
)
_COUNTING = (znodes.BROKER_SEQUENCE_PATH, znodes.FEATURE_PATH)
"""The last generated broker id, and the epoch of the features, are their nodes' versions."""

_NODES_AT_A_TIME = 1000
_OPERATIONS_PER_MULTI = 200
_BYTES_PER_MULTI = 256 << 10


@dataclass(frozen=True, slots=True)
class CopiedNode:
    path: str
    data: bytes
    version: int


@dataclass(frozen=True, slots=True)
class TreeCopy:
    """``nodes``: parents before children. ``left_out``: the paths of ephemeral nodes and notifications."""

    nodes: tuple[CopiedNode, ...]
    left_out: tuple[str, ...]

    @property
    def cluster_id(self) -> str | None:
        """None: no broker was ever here. ZnodeDecodeError."""
        found = next((node for node in self.nodes if node.path == znodes.CLUSTER_ID_PATH), None)
        return None if found is None else znodes.decode_cluster_id(found.data)

    def topics(self) -> list[TopicInfo]:
        """ZnodeDecodeError."""
        found = [node for node in self.nodes if parent_of(node.path) == znodes.TOPICS_PATH]
        return [TopicInfo.decode(node.path.removeprefix(f"{znodes.TOPICS_PATH}/"), node.data) for node in found]

    def configured(self, entity_type: str) -> int:
        """How many topics, brokers, users, … have settings of their own."""
        return sum(parent_of(node.path) == f"/config/{entity_type}" for node in self.nodes)


async def roots_present(store: MetadataStore, root: str = "") -> list[str]:
    """What of Kafka's is in the tree below ``root``, by path. Nothing is created to find out."""
    try:
        names = await store.children(root or "/")
    except NoNodeError:
        return []
    return [f"/{name}" for name in names if f"/{name}" in _ROOTS]


async def read_tree(store: MetadataStore) -> TreeCopy:
    """All of Kafka's that lasts. NoNodeError: something went while it was read, so brokers are up."""
    nodes: list[CopiedNode] = []
    left_out: list[str] = []
    level = await roots_present(store)
    while level:
        below: list[str] = []
        for chunk in _chunks(level):
            reads = await asyncio.gather(*(store.get(path) for path in chunk))
            listings = await asyncio.gather(*(store.children(path) for path in chunk))
            for path, (data, stat), names in zip(chunk, reads, listings, strict=True):
                children = [f"{path}/{name}" for name in names]
                if stat.ephemeral_owner:
                    left_out.append(path)
                    continue
                nodes.append(CopiedNode(path, data, stat.version))
                (left_out if path in _NOTIFICATIONS else below).extend(children)
        level = below
    return TreeCopy(tuple(nodes), tuple(left_out))


async def write_tree(store: MetadataStore, nodes: Sequence[CopiedNode], *, at_once: bool) -> None:
    """Into a tree without any of Kafka's. ``at_once``: in one step, all or nothing. Else in several: what was written
    is removed again when one fails, and the cluster's id comes last, so that what is cut off in between shows."""
    if at_once:
        await store.multi([operation for node in nodes for operation in _writing(node)])
        return
    written: list[str] = []
    for part in _parts(_with_the_cluster_last(nodes)):
        try:
            await store.multi([operation for node in part for operation in _writing(node)])
        except BaseException as error:
            is_under_way = isinstance(error, ConnectionLossError | asyncio.CancelledError)
            await _take_back(store, written, part if is_under_way else [], error)
            raise
        written += [node.path for node in part]


async def _take_back(
    store: MetadataStore, written: Sequence[str], under_way: Sequence[CopiedNode], reason: BaseException
) -> None:
    """Remove what was written, and what may have been, ``under_way`` when the connection broke, or the copy was told to
    stop. Raises MetadataStoreError, which says what stays, for `reason` is the lesser evil."""
    try:
        of_this_copy = await _is_written(store, under_way)
        await _remove(store, [*written, *(node.path for node in under_way if of_this_copy)])
    except MetadataStoreError as error:
        raise MetadataStoreError(None, f"{reason}; and what had been written could not be removed: {error}") from error


async def _is_written(store: MetadataStore, part: Sequence[CopiedNode]) -> bool:
    """Whether a part of which the answer was lost is in the tree, and not what others have made there meanwhile.

    What one multi creates has one czxid, and that of all of the part only this copy's has. (Or that of another copy of
    the same tree, which began in the same moment: it loses its first part then, and removes what it wrote after it.)
    """
    try:
        # A write first: it comes behind the one whose answer was lost, also where reads are answered by a server that
        # lags behind.
        await store.multi([Check(node.path, _version(node)) for node in part])
    except NoNodeError:
        return False
    except BadVersionError as error:
        names = ", ".join(node.path for node in part[:3])
        raise MetadataStoreError(None, f"{names}, … may be this copy's, and have been changed since") from error
    found = await all_found({node.path: store.get(node.path) for node in part})
    are_equal = {path: data for path, (data, _) in found.items()} == {node.path: node.data for node in part}
    return are_equal and len({stat.czxid for _, stat in found.values()}) == 1


async def _remove(store: MetadataStore, paths: Sequence[str]) -> None:
    """As far as they are there."""
    for chunk in _chunks(paths[::-1], _OPERATIONS_PER_MULTI):
        for outcome in await asyncio.gather(*(store.delete(path) for path in chunk), return_exceptions=True):
            if isinstance(outcome, BaseException) and not isinstance(outcome, NoNodeError):
                raise outcome


def _with_the_cluster_last(nodes: Iterable[CopiedNode]) -> list[CopiedNode]:
    return sorted(nodes, key=lambda node: node.path.startswith("/cluster"))


def _writing(node: CopiedNode) -> list[Operation]:
    create = Create(node.path, node.data)
    return [create, *[SetData(node.path, node.data)] * _version(node)]


def _version(node: CopiedNode) -> int:
    """That of its copy."""
    return node.version if node.path in _COUNTING else 0


def _parts(nodes: Iterable[CopiedNode]) -> Iterator[list[CopiedNode]]:
    """A multi's worth each: ZooKeeper takes requests of about 1 MB."""
    part: list[CopiedNode] = []
    size = 0
    for node in nodes:
        size += len(node.path) + len(node.data)
        if part and (len(part) == _OPERATIONS_PER_MULTI or size > _BYTES_PER_MULTI):
            yield part
            part, size = [], len(node.path) + len(node.data)
        part.append(node)
    if part:
        yield part


def _chunks(items: Sequence[Item], size: int = _NODES_AT_A_TIME) -> Iterator[Sequence[Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
