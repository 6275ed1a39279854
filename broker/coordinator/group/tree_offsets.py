"""Offsets that version 0 of OffsetCommit stores in the metadata tree: /consumers/G/offsets/T/P.

As in Kafka they are never deleted, and the embedded tree is in memory, so ``pybroker.legacy.offsets.max.bytes`` limits
them. Each broker counts the offsets that exist at its first OffsetCommit, and those that it adds.
"""

import asyncio
import logging

from ....base.quiet_lines import QUIET
from ....base.topic_partition import TopicPartition
from ....controller.tree import znodes
from ....controller.tree.cluster_tree import ClusterTree
from ....controller.tree.metadata_store import InvalidPathError, NoNodeError
from ....protocol.errors import InvalidCommitOffsetSizeError, UnknownServerError
from ....protocol.text_size import text_bytes

__all__ = ["TreeOffsets", "tree_offset_bytes"]

logger = logging.getLogger(__name__)

_OFFSET_BYTES = 2_000
_COPIES_OF_PATH = 8


def tree_offset_bytes(path: str) -> int:
    """Estimated memory of an offset with its parent nodes and their paths."""
    return _OFFSET_BYTES + _COPIES_OF_PATH * text_bytes(path)


class TreeOffsets:
    """The handlers' `LegacyOffsets`."""

    def __init__(self, tree: ClusterTree, max_bytes: int) -> None:
        self._tree = tree
        self._max_bytes = max_bytes
        self._used_bytes: int | None = None
        self._counting = asyncio.Lock()

    async def get(self, group_id: str, partition: TopicPartition) -> int | None:
        """Raises UnknownServerError, as Kafka does, for a group id that cannot be part of a path."""
        path = znodes.consumer_offset_path(group_id, partition)
        try:
            data, _ = await self._tree.store.get(path)
        except NoNodeError:
            return None
        except InvalidPathError as error:
            raise UnknownServerError(str(error)) from error
        return znodes.decode_number(path, data)

    async def set(self, group_id: str, partition: TopicPartition, offset: int) -> None:
        """Raises UnknownServerError for a group id that cannot be the name of a node, InvalidCommitOffsetSizeError when
        the limit is reached."""
        if "/" in group_id:  # each slash would add a node with its whole path
            raise UnknownServerError("A group id with a slash cannot have offsets in the metadata store.")
        path = znodes.consumer_offset_path(group_id, partition)
        data = znodes.encode_number(offset)
        try:
            is_new = await self._tree.store.exists(path) is None
        except InvalidPathError as error:
            raise UnknownServerError(str(error)) from error
        if is_new:
            await self._reserve(path)
            await self._tree.ensure(path, data)
        await self._tree.store.set(path, data)

    async def _reserve(self, path: str) -> None:
        async with self._counting:
            if self._used_bytes is None:
                self._used_bytes = await self._count()
        size_bytes = tree_offset_bytes(path)
        if self._used_bytes + size_bytes > self._max_bytes:
            logger.warning(
                "offset not stored in the metadata store: pybroker.legacy.offsets.max.bytes is reached", extra=QUIET
            )
            raise InvalidCommitOffsetSizeError("pybroker.legacy.offsets.max.bytes is reached.")
        self._used_bytes += size_bytes

    async def _count(self) -> int:
        size_bytes = 0
        for group_id in await self._children(znodes.CONSUMERS_PATH):
            topics_path = znodes.consumer_topics_path(group_id)
            for topic in await self._children(topics_path):
                topic_path = f"{topics_path}/{topic}"
                for partition in await self._children(topic_path):
                    size_bytes += tree_offset_bytes(f"{topic_path}/{partition}")
        return size_bytes

    async def _children(self, path: str) -> list[str]:
        try:
            return await self._tree.store.children(path)
        except NoNodeError:
            return []
