"""Controlled shutdown: before a broker stops, the controller makes other brokers lead its partitions.

**Why**: without it, the partitions would have no leader until the controller notices that the broker is gone. With it,
clients fail only until they learn of the new leader.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from typing import Any

from ...base.topic_partition import TopicPartition
from ...protocol.codec import Message
from ...protocol.errors import known_error_code
from ...protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from ..metadata.metadata_cache import MetadataCache

__all__ = ["Successors", "hand_over_leaderships"]

logger = logging.getLogger(__name__)

_NAMED_IN_A_LINE = 3


class Successors:
    """The brokers that could lead in place of this one, by its metadata."""

    def __init__(self, cache: MetadataCache, broker_id: int) -> None:
        self._cache = cache
        self._broker_id = broker_id
        self._changed = asyncio.Event()
        cache.on_update(lambda _update: self._changed.set())

    def may_come(self, partitions: Iterable[TopicPartition] | None) -> bool:
        """Whether another live broker has a replica of one of ``partitions`` and may be in sync soon.

        None stands for all partitions.
        """
        others = [broker_id for broker_id in self._cache.broker_ids if broker_id != self._broker_id]
        if partitions is None:
            return bool(others)
        return any(broker_id in others for partition in partitions for broker_id in self._replicas(partition))

    @property
    def controller_id(self) -> int:
        return self._cache.controller_id

    async def gone(self, partitions: Iterable[TopicPartition] | None, controller_id: int, within_s: float) -> None:
        """Wait until no successor can come any more, or another broker than ``controller_id`` is the controller.

        Returns after ``within_s`` seconds at the latest.
        """
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self.may_come(partitions) and self._cache.controller_id == controller_id:
                    self._changed.clear()
                    await self._changed.wait()

    def _replicas(self, partition: TopicPartition) -> list[int]:
        state = self._cache.partition(*partition)
        return [] if state is None else state.replicas


async def hand_over_leaderships(
    ask: Callable[[Message, int], Awaitable[Any]],
    request: ControlledShutdownRequest,
    version: int,
    successors: Successors,
    *,
    max_retries: int,
    backoff_ms: int,
) -> bool:
    """Send ``request`` until other brokers lead all partitions; returns whether they do.

    ``ask``: `ControllerLink.ask_once`. ``max_retries``: controlled.shutdown.max.retries, which counts all tries as in
    Kafka; ``backoff_ms``: its .retry.backoff.ms. The last broker of a cluster uses up all tries in Kafka; here it does
    not wait at all.
    """
    why = "no try is allowed"
    for tries_left in range(max_retries - 1, -1, -1):
        asked = successors.controller_id  # there may be another controller once this one has failed to answer
        remaining, why = await _try(ask, request, version)
        if not why:
            logger.info("other brokers lead all partitions that this broker led")
            return True
        if tries_left and successors.may_come(remaining):
            logger.warning("controlled shutdown is not complete, %d tries are left: %s", tries_left, why)
            await successors.gone(remaining, asked, backoff_ms / 1000)
        if not successors.may_come(remaining):
            logger.info("no other live broker could lead the partitions of this one: %s", why)
            return False
    logger.warning("this broker stops without handing over its partitions, other brokers will notice: %s", why)
    return False


async def _try(
    ask: Callable[[Message, int], Awaitable[Any]], request: ControlledShutdownRequest, version: int
) -> tuple[list[TopicPartition] | None, str]:
    """The partitions that this broker still leads (None: unknown), and what went wrong ("": nothing)."""
    try:
        answer: ControlledShutdownResponse = await ask(request, version)
    except (ConnectionError, TimeoutError) as error:
        return None, str(error) or type(error).__name__
    if answer.error_code:
        return None, f"error {known_error_code(answer.error_code).name}"
    remaining = [TopicPartition(each.topic_name, each.partition_index) for each in answer.remaining_partitions]
    return remaining, f"it still leads {_some_of(remaining)}" if remaining else ""


def _some_of(partitions: list[TopicPartition]) -> str:
    more = f" and {len(partitions) - _NAMED_IN_A_LINE} more" if len(partitions) > _NAMED_IN_A_LINE else ""
    return f"{', '.join(map(str, partitions[:_NAMED_IN_A_LINE]))}{more}"
