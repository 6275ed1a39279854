"""Copies a cluster's tree from one store to another.

Ephemeral nodes and notifications are left out: they belong to brokers that are down, and the numbers of notifications
would be reused. Nodes begin at version 0 again, which brokers do not remember; only nodes whose version carries a
meaning (`_COUNTING`) keep it.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ...base.chunks import chunks
from ...base.frozen import frozen
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
from .znodes import Features, TopicInfo, ZnodeDecodeError

__all__ = ["CopiedNode", "TreeCopy", "read_tree", "roots_present", "without_levels", "write_tree"]


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
"""The top-level nodes that belong to Kafka; other programs may use the same tree."""

_NOTIFICATIONS = (
    znodes.CONFIG_CHANGES_PATH,
    znodes.ISR_CHANGE_PATH,
    znodes.LOG_DIR_EVENT_PATH,
    "/kafka-acl-changes",
    "/kafka-acl-extended-changes",
    "/delegation_token/token_changes",
)
_COUNTING = (znodes.BROKER_SEQUENCE_PATH, znodes.FEATURE_PATH)
"""Nodes whose version carries a meaning: the last generated broker id, and the epoch of the features."""

_NODES_AT_A_TIME = 1000
_OPERATIONS_PER_MULTI = 200
_BYTES_PER_MULTI = 256 << 10


@frozen
class CopiedNode:
    path: str
    data: bytes
    version: int


@frozen
class TreeCopy:
    """``nodes``: parents before children. ``left_out``: the paths of ephemeral nodes and notifications."""

    nodes: tuple[CopiedNode, ...]
    left_out: tuple[str, ...]

    @property
    def cluster_id(self) -> str | None:
        """The cluster id; None if no broker ever used the tree. Raises ZnodeDecodeError."""
        found = next((node for node in self.nodes if node.path == znodes.CLUSTER_ID_PATH), None)
        return None if found is None else znodes.decode_cluster_id(found.data)

    def topics(self) -> list[TopicInfo]:
        """The topics of the tree. Raises ZnodeDecodeError."""
        found = [node for node in self.nodes if parent_of(node.path) == znodes.TOPICS_PATH]
        return [TopicInfo.decode(node.path.removeprefix(f"{znodes.TOPICS_PATH}/"), node.data) for node in found]

    def configured(self, entity_type: str) -> int:
        """The number of topics, brokers, users, … that have settings."""
        return sum(parent_of(node.path) == f"/config/{entity_type}" for node in self.nodes)


async def roots_present(store: MetadataStore, root: str = "") -> list[str]:
    """The paths of Kafka's top-level nodes that exist below ``root``. Creates nothing."""
    try:
        names = await store.children(root or "/")
    except NoNodeError:
        return []
    return [f"/{name}" for name in names if f"/{name}" in _ROOTS]


async def read_tree(store: MetadataStore) -> TreeCopy:
    """All persistent nodes of Kafka. Raises NoNodeError when a node vanishes meanwhile, because a broker is running."""
    nodes: list[CopiedNode] = []
    left_out: list[str] = []
    level = await roots_present(store)
    while level:
        below: list[str] = []
        for chunk in chunks(level, _NODES_AT_A_TIME):
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


def without_levels(nodes: Sequence[CopiedNode]) -> list[CopiedNode]:
    """The nodes without levels of features, on which a Kafka 3.9 would stop. Their epoch rises with the change."""
    return [_without_levels(node) if node.path == znodes.FEATURE_PATH else node for node in nodes]


def _without_levels(node: CopiedNode) -> CopiedNode:
    try:
        features = Features.decode(node.data)
    except ZnodeDecodeError:  # without effect on any broker
        return node
    if not features.levels:
        return node
    return CopiedNode(node.path, replace(features, levels={}).encode(), node.version + 1)


async def write_tree(store: MetadataStore, nodes: Sequence[CopiedNode], *, at_once: bool) -> None:
    """Write into a tree without nodes of Kafka.

    ``at_once``: in one transaction. Otherwise in several; if one fails, the nodes written so far are deleted. The
    cluster id is written last, so that an interrupted copy can be recognised.
    """
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
    """Delete the nodes written, and those of ``under_way``, which may have been written when the copy was interrupted.

    Raises MetadataStoreError, which names the nodes that remain, instead of ``reason``.
    """
    try:
        of_this_copy = await _is_written(store, under_way)
        await _remove(store, [*written, *(node.path for node in under_way if of_this_copy)])
    except MetadataStoreError as error:
        raise MetadataStoreError(None, f"{reason}; and the written nodes could not be deleted: {error}") from error


async def _is_written(store: MetadataStore, part: Sequence[CopiedNode]) -> bool:
    """Whether a part whose response was lost is in the tree, written by this copy and not by another program.

    All nodes of one transaction share a czxid, so only this copy's part has one czxid for all its nodes. (Another
    copy of the same tree, begun at the same moment, loses its first part and deletes the nodes it wrote afterwards.)
    """
    try:
        # Write first: the write comes after the one whose response was lost, even if a server that lags behind answers
        # reads.
        await store.multi([Check(node.path, _version(node)) for node in part])
    except NoNodeError:
        return False
    except BadVersionError as error:
        names = ", ".join(node.path for node in part[:3])
        raise MetadataStoreError(None, f"{names}, … may belong to this copy, but have been changed since") from error
    found = await all_found({node.path: store.get(node.path) for node in part})
    are_equal = {path: data for path, (data, _) in found.items()} == {node.path: node.data for node in part}
    return are_equal and len({stat.czxid for _, stat in found.values()}) == 1


async def _remove(store: MetadataStore, paths: Sequence[str]) -> None:
    """Delete the nodes that exist."""
    for chunk in chunks(paths[::-1], _OPERATIONS_PER_MULTI):
        for outcome in await asyncio.gather(*(store.delete(path) for path in chunk), return_exceptions=True):
            if isinstance(outcome, BaseException) and not isinstance(outcome, NoNodeError):
                raise outcome


def _with_the_cluster_last(nodes: Iterable[CopiedNode]) -> list[CopiedNode]:
    return sorted(nodes, key=lambda node: node.path.startswith("/cluster"))


def _writing(node: CopiedNode) -> list[Operation]:
    create = Create(node.path, node.data)
    return [create, *[SetData(node.path, node.data)] * _version(node)]


def _version(node: CopiedNode) -> int:
    """The version that the copy of ``node`` gets."""
    return node.version if node.path in _COUNTING else 0


def _parts(nodes: Iterable[CopiedNode]) -> Iterator[list[CopiedNode]]:
    """Parts that fit into one transaction each: ZooKeeper accepts requests of about 1 MB."""
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
