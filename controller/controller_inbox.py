"""What others leave in the tree for the controller to do, besides the topics: each as nodes that it takes away.

/log_dir_event_notification, /isr_change_notification: notifications, numbered. /admin/reassign_partitions,
/admin/preferred_replica_election: one wish at a time, each of many partitions; kept until it is carried out, so that
the next controller goes on with it. (/admin/delete_topics is part of a topic: `ClusterTree`.)
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
    """Taking something away takes the ``epoch_version`` of the controller, as all its writes: one that was replaced
    must not take what the next one has to do. Raises as `ClusterTree` does."""

    def __init__(self, tree: ClusterTree) -> None:
        self._tree = tree

    # -- notifications

    async def failed_log_dirs(self, watch: Watch | None = None) -> Mapping[str, int | None]:
        """Brokers that lost a log directory, by notification."""
        return await self._notifications(znodes.LOG_DIR_EVENT_PATH, znodes.decode_log_dir_event, watch)

    async def changed_isrs(self, watch: Watch | None = None) -> Mapping[str, list[TopicPartition] | None]:
        """Partitions whose leader wrote their state, by notification."""
        return await self._notifications(znodes.ISR_CHANGE_PATH, znodes.decode_partition_list, watch)

    async def forget(self, parent: str, names: Sequence[str], epoch_version: int) -> None:
        for name in names:
            await self._delete(f"{parent}/{name}", epoch_version)

    async def _notifications(
        self, parent: str, decode: Callable[[str, bytes], Told], watch: Watch | None
    ) -> dict[str, Told | None]:
        """None: it says nothing that can be understood."""
        told: dict[str, Told | None] = {}
        for name in await self._tree.store.children(parent, watch):
            path = f"{parent}/{name}"
            try:
                data, _ = await self._tree.store.get(path)
                told[name] = decode(path, data)
            except NoNodeError:
                continue
            except ZnodeDecodeError as error:
                logger.error("a notification is ignored: %s", error)
                told[name] = None
        return told

    # -- wishes

    async def reassignments(self, watch: Watch | None = None) -> dict[TopicPartition, tuple[int, ...]] | None:
        """The replicas that partitions are to have; None: nobody asks. ``watch`` is set in either case. One that cannot
        be understood asks for nothing."""
        data = await self._wish(znodes.REASSIGN_PARTITIONS_PATH, watch)
        if data is None:
            return None
        try:
            return znodes.decode_reassignments(data)
        except ZnodeDecodeError as error:
            logger.error("a reassignment is ignored: %s", error)
            return {}

    async def set_reassignments(self, targets: Mapping[TopicPartition, Sequence[int]], epoch_version: int) -> None:
        """Leave only ``targets`` to be done; none: take the node away."""
        path = znodes.REASSIGN_PARTITIONS_PATH
        if targets:
            await self._tree.controller_write([SetData(path, znodes.encode_reassignments(targets))], epoch_version)
        else:
            await self._delete(path, epoch_version)

    async def preferred_elections(self, watch: Watch | None = None) -> list[TopicPartition] | None:
        """As `reassignments`."""
        data = await self._wish(znodes.PREFERRED_ELECTION_PATH, watch)
        if data is None:
            return None
        try:
            return znodes.decode_partition_list(znodes.PREFERRED_ELECTION_PATH, data)
        except ZnodeDecodeError as error:
            logger.error("a preferred leader election is ignored: %s", error)
            return []

    async def end_preferred_elections(self, epoch_version: int) -> None:
        await self._delete(znodes.PREFERRED_ELECTION_PATH, epoch_version)

    async def _wish(self, path: str, watch: Watch | None) -> bytes | None:
        node = await read_watched(self._tree.store, path, watch)
        return node[0] if node is not None else None

    async def _delete(self, path: str, epoch_version: int) -> None:
        try:
            await self._tree.controller_write([Delete(path)], epoch_version)
        except NoNodeError:
            return
