"""Gives out producer ids one by one, from blocks of 1000 that are allocated in the tree."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from .tree import znodes
from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import BadVersionError, NodeExistsError, NoNodeError
from .tree.znodes import ProducerIdBlock

__all__ = ["BLOCK_SIZE", "ProducerIdBlocks", "ProducerIds", "ProducerIdsExhaustedError"]

logger = logging.getLogger(__name__)

BLOCK_SIZE = 1000
_MAX_PRODUCER_ID = 2**63 - 1


class ProducerIdsExhaustedError(Exception):
    """All 2^63 producer ids have been given."""


class ProducerIdBlocks:
    """Allocates blocks in /latest_producer_id_block (Kafka's ZkProducerIdManager).

    From IBP 3.0 on the controller does it for every broker (AllocateProducerIds).
    """

    def __init__(self, tree: ClusterTree) -> None:
        self._tree = tree

    async def next_block(self, broker_id: int) -> ProducerIdBlock:
        """The block after the last one allocated. Raises ProducerIdsExhaustedError."""
        store = self._tree.store
        while True:
            try:
                data, stat = await store.get(znodes.PRODUCER_ID_BLOCK_PATH)
            except NoNodeError:
                await self._tree.ensure(znodes.PRODUCER_ID_BLOCK_PATH)
                continue
            first = ProducerIdBlock.decode(data).last + 1 if data else 0
            if first > _MAX_PRODUCER_ID - BLOCK_SIZE:
                raise ProducerIdsExhaustedError("no producer ids are left")
            block = ProducerIdBlock(broker_id, first, first + BLOCK_SIZE - 1)
            try:
                await store.set(znodes.PRODUCER_ID_BLOCK_PATH, block.encode(), stat.version)
            except (BadVersionError, NodeExistsError):  # another broker was faster
                continue
            logger.info("producer ids %d to %d belong to broker %d", block.first, block.last, broker_id)
            return block


class ProducerIds:
    """The producer ids of this broker. ``next_block`` gets more, from the tree or from the controller."""

    def __init__(self, next_block: Callable[[], Awaitable[ProducerIdBlock]]) -> None:
        self._next_block = next_block
        self._next = 0
        self._last = -1
        self._fetching: asyncio.Task[None] | None = None

    async def next(self) -> int:
        """An id never given before. Raises the errors of ``next_block``."""
        while self._next > self._last:
            if self._fetching is None:
                self._fetching = asyncio.get_running_loop().create_task(self._fetch(), name="producer-id-block")
                self._fetching.add_done_callback(_note_failure)
            await asyncio.shield(self._fetching)  # shared: the cancellation of one caller must not affect the others
        producer_id = self._next
        self._next += 1
        return producer_id

    def kill(self) -> None:
        """Cancel the request for a block."""
        if self._fetching is not None:
            self._fetching.cancel()

    async def _fetch(self) -> None:
        try:
            block = await self._next_block()
        finally:
            self._fetching = None
        self._next, self._last = block.first, block.last


def _note_failure(fetching: asyncio.Task[None]) -> None:
    """Retrieve the error of a failed fetch, because all of its callers may be gone."""
    if not fetching.cancelled():
        fetching.exception()
