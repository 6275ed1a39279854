"""Reads and removes the requests that brokers and tools write into the tree for the controller.

/log_dir_event_notification and /isr_change_notification hold numbered notifications. /admin/reassign_partitions and
/admin/preferred_replica_election hold one request each, for many partitions; a request stays until it is carried out,
so that the next controller can continue. (For /admin/delete_topics see `ClusterTree`.)
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from ..base.topic_partition import TopicPartition
from .tree import znodes
from .tree.cluster_tree import ClusterTree
from .tree.config_tree import read_watched
from .tree.metadata_store import Delete, NoNodeError, SetData, Watch
from .tree.znode_json import ZnodeDecodeError

__all__ = ["ControllerInbox"]

Told = TypeVar("Told")

logger = logging.getLogger(__name__)


class ControllerInbox:
    """Removing a node takes ``epoch_version``, as all writes of the controller do: a controller that was replaced must
    not remove requests of the next one. Raises as `ClusterTree` does."""

    def __init__(self, tree: ClusterTree) -> None:
        self._tree = tree

    # -- notifications

    async def log_dir_events(self, watch: Watch | None = None) -> Mapping[str, int | None]:
        """The broker that lost a log directory, by notification."""
        return await self._notifications(znodes.LOG_DIR_EVENT_PATH, znodes.decode_log_dir_event, watch)

    async def changed_isrs(self, watch: Watch | None = None) -> Mapping[str, list[TopicPartition] | None]:
        """The partitions whose leader wrote their state, by notification."""
        return await self._notifications(znodes.ISR_CHANGE_PATH, znodes.decode_partition_list, watch)

    async def forget(self, parent: str, names: Sequence[str], epoch_version: int) -> None:
        for name in names:
            await self._delete(f"{parent}/{name}", epoch_version)

    async def _notifications(
        self, parent: str, decode: Callable[[str, bytes], Told], watch: Watch | None
    ) -> dict[str, Told | None]:
        """A notification that cannot be decoded is None."""
        told: dict[str, Told | None] = {}
        for name in await self._tree.store.children(parent, watch):
            path = f"{parent}/{name}"
            try:
                data, _ = await self._tree.store.get(path)
                told[name] = decode(path, data)
            except NoNodeError:
                continue
            except ZnodeDecodeError as error:
                logger.error("notification node %s is ignored: %s", error.path, error.reason)
                told[name] = None
        return told

    # -- requests

    async def reassignments(self, watch: Watch | None = None) -> dict[TopicPartition, tuple[int, ...]] | None:
        """The requested replicas by partition; None: no request. ``watch`` is set in either case. A request that cannot
        be decoded counts as empty."""
        data = await self._request(znodes.REASSIGN_PARTITIONS_PATH, watch)
        if data is None:
            return None
        try:
            return znodes.decode_reassignments(data)
        except ZnodeDecodeError as error:
            logger.error("a reassignment is ignored: %s", error)
            return {}

    async def set_reassignments(self, targets: Mapping[TopicPartition, Sequence[int]], epoch_version: int) -> None:
        """Reduce the request to ``targets``; remove the node when they are empty."""
        path = znodes.REASSIGN_PARTITIONS_PATH
        if targets:
            await self._tree.controller_write([SetData(path, znodes.encode_reassignments(targets))], epoch_version)
        else:
            await self._delete(path, epoch_version)

    async def preferred_elections(self, watch: Watch | None = None) -> list[TopicPartition] | None:
        """The partitions requested; else as `reassignments`."""
        data = await self._request(znodes.PREFERRED_ELECTION_PATH, watch)
        if data is None:
            return None
        try:
            return znodes.decode_partition_list(znodes.PREFERRED_ELECTION_PATH, data)
        except ZnodeDecodeError as error:
            logger.error("a preferred leader election is ignored: %s", error)
            return []

    async def end_preferred_elections(self, epoch_version: int) -> None:
        await self._delete(znodes.PREFERRED_ELECTION_PATH, epoch_version)

    async def _request(self, path: str, watch: Watch | None) -> bytes | None:
        node = await read_watched(self._tree.store, path, watch)
        return node[0] if node is not None else None

    async def _delete(self, path: str, epoch_version: int) -> None:
        try:
            await self._tree.controller_write([Delete(path)], epoch_version)
        except NoNodeError:
            return
