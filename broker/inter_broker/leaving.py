"""A broker's leave: before it stops, the controller has others lead what it leads (controlled shutdown).

So no partition is without a leader while the controller finds out that this broker is gone, and nobody's fetch or
produce fails for longer than it takes to hear of the new leader.
"""

import asyncio
import logging
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Protocol

from ...base.topic_partition import TopicPartition
from ...protocol.codec import Message
from ...protocol.errors import ErrorCode
from ...protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from ..metadata.metadata_cache import MetadataCache

__all__ = ["Successors", "hand_over_leaderships"]

logger = logging.getLogger(__name__)

_NAMED_IN_A_LINE = 3


class Controller(Protocol):
    """A `ControllerLink`."""

    async def ask_once(self, request: Message, version: int) -> Any: ...


class Successors:
    """Who could lead in place of this broker, as far as it was told."""

    def __init__(self, cache: MetadataCache, broker_id: int) -> None:
        self._cache = cache
        self._broker_id = broker_id
        self._changed = asyncio.Event()
        cache.on_update(lambda _update: self._changed.set())

    def may_come(self, partitions: Iterable[TopicPartition] | None) -> bool:
        """Whether another broker that is up has a replica of one of ``partitions``: it may be in sync soon. None: of
        whatever there is."""
        others = [broker_id for broker_id in self._cache.broker_ids if broker_id != self._broker_id]
        if partitions is None:
            return bool(others)
        return any(broker_id in others for partition in partitions for broker_id in self._replicas(partition))

    @property
    def controller_id(self) -> int:
        return self._cache.controller_id

    async def gone(self, partitions: Iterable[TopicPartition] | None, controller_id: int, within_s: float) -> None:
        """Wait, ``within_s`` at the longest, until none may come any more, or another than ``controller_id``, who was
        asked, is controller."""
        with suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while self.may_come(partitions) and self._cache.controller_id == controller_id:
                    self._changed.clear()
                    await self._changed.wait()

    def _replicas(self, partition: TopicPartition) -> list[int]:
        state = self._cache.partition(*partition)
        return [] if state is None else state.replicas


async def hand_over_leaderships(
    controller: Controller,
    request: ControlledShutdownRequest,
    version: int,
    successors: Successors,
    *,
    max_retries: int,
    backoff_ms: int,
) -> bool:
    """Ask until this broker leads nothing that another could; returns whether that came to be.

    ``max_retries``, ``backoff_ms``: controlled.shutdown.max.retries, which are all tries as in Kafka, and
    .retry.backoff.ms. Kafka's last broker to stop waits for the end of these too; here nobody waits for brokers that
    are not there.
    """
    why = "no try is allowed"
    for tries_left in range(max_retries - 1, -1, -1):
        asked = successors.controller_id  # there may be another one by the time that this one has not answered
        remaining, why = await _ask(controller, request, version)
        if not why:
            logger.info("other brokers lead what this one has led")
            return True
        if tries_left and successors.may_come(remaining):
            logger.warning("leaderships are not handed over yet, %d tries are left: %s", tries_left, why)
            await successors.gone(remaining, asked, backoff_ms / 1000)
        if not successors.may_come(remaining):
            logger.info("no broker is up that could lead in place of this one: %s", why)
            return False
    logger.warning("this broker stops although others depend on it, they find out by themselves: %s", why)
    return False


async def _ask(
    controller: Controller, request: ControlledShutdownRequest, version: int
) -> tuple[list[TopicPartition] | None, str]:
    """What this broker still leads, None where that was not answered; and what is wrong with it, "" nothing."""
    try:
        answer: ControlledShutdownResponse = await controller.ask_once(request, version)
    except (ConnectionError, TimeoutError) as error:
        return None, str(error) or type(error).__name__
    if answer.error_code:
        return None, f"error {ErrorCode(answer.error_code).name}"
    remaining = [TopicPartition(each.topic_name, each.partition_index) for each in answer.remaining_partitions]
    return remaining, f"it still leads {_some_of(remaining)}" if remaining else ""


def _some_of(partitions: list[TopicPartition]) -> str:
    more = f" and {len(partitions) - _NAMED_IN_A_LINE} more" if len(partitions) > _NAMED_IN_A_LINE else ""
    return f"{', '.join(map(str, partitions[:_NAMED_IN_A_LINE]))}{more}"
