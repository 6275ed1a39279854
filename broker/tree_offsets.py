"""Offsets that version 0 of OffsetCommit keeps in the metadata tree: /consumers/G/offsets/T/P."""

from ..controller import znodes
from ..controller.cluster_tree import ClusterTree
from ..controller.metadata_store import InvalidPathError, NoNodeError
from ..protocol.errors import UnknownServerError
from ..storage.topic_partition import TopicPartition

__all__ = ["TreeOffsets"]


class TreeOffsets:
    """The handlers' `LegacyOffsets`."""

    def __init__(self, tree: ClusterTree) -> None:
        self._tree = tree

    async def get(self, group_id: str, partition: TopicPartition) -> int | None:
        """Raises UnknownServerError, as Kafka answers, for a group id that can be no part of a path."""
        path = znodes.consumer_offset_path(group_id, partition)
        try:
            data, _ = await self._tree.store.get(path)
        except NoNodeError:
            return None
        except InvalidPathError as error:
            raise UnknownServerError(str(error)) from error
        return znodes.decode_number(path, data)

    async def set(self, group_id: str, partition: TopicPartition, offset: int) -> None:
        path = znodes.consumer_offset_path(group_id, partition)
        data = znodes.encode_number(offset)
        try:
            await self._tree.ensure(path, data)
        except InvalidPathError as error:
            raise UnknownServerError(str(error)) from error
        await self._tree.store.set(path, data)
