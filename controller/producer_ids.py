"""Gives out producer ids one by one, from blocks of 1000 that are allocated in the tree."""

import logging
from collections.abc import Awaitable, Callable

from ..base.shared_work import PATIENCE_MS, SharedWork
from ..protocol.errors import CoordinatorLoadInProgressError
from .tree import znodes
from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import BadVersionError, NodeExistsError, NoNodeError
from .tree.znodes import ProducerIdBlock

__all__ = ["BLOCK_SIZE", "ProducerIdBlocks", "ProducerIds", "ProducerIdsExhaustedError"]

logger = logging.getLogger(__name__)

BLOCK_SIZE = 1000
_REFILL_AT_PERCENT = 90
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
    """The producer ids of this broker. ``next_block`` gets more, from the tree or from the controller.

    As in Kafka (RPCProducerIdManager) the next block is fetched when a tenth of the block in use is left.
    """

    def __init__(self, next_block: Callable[[], Awaitable[ProducerIdBlock]], patience_ms: int = PATIENCE_MS) -> None:
        """``patience_ms``: how long a request waits for a block."""
        self._next_block = next_block
        self._next = 0
        self._last = -1
        self._refill_from = 0
        self._spare: ProducerIdBlock | None = None
        self._refill = SharedWork("producer-id-block", self._fetch, patience_ms)

    async def next(self) -> int:
        """An id never given before. Raises the errors of ``next_block``, and CoordinatorLoadInProgressError, on which
        clients ask again, when no block comes in time."""
        while self._next > self._last:
            if self._spare is not None:
                self._use(self._spare)
            elif await self._refill.result() is None:
                raise CoordinatorLoadInProgressError("no block of producer ids has come yet")
        producer_id = self._next
        self._next += 1
        if producer_id >= self._refill_from and self._spare is None:
            self._refill.begin()
        return producer_id

    def kill(self) -> None:
        """Cancel the request for a block."""
        self._refill.kill()

    async def stop(self) -> None:
        """`kill`, then wait until it has ended."""
        await self._refill.stop()

    def _use(self, block: ProducerIdBlock) -> None:
        self._spare = None
        self._next, self._last = block.first, block.last
        self._refill_from = block.first + (block.last - block.first + 1) * _REFILL_AT_PERCENT // 100

    async def _fetch(self) -> ProducerIdBlock:
        self._spare = await self._next_block()
        return self._spare
