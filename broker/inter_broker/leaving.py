"""A broker's leave: before it stops, the controller has others lead what it leads (controlled shutdown).

So no partition is without a leader while the controller finds out that this broker is gone, and nobody's fetch or
produce fails for longer than it takes to hear of the new leader.
"""

import asyncio
import logging
from typing import Any, Protocol

from ...protocol.codec import Message
from ...protocol.errors import ErrorCode
from ...protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse

__all__ = ["hand_over_leaderships"]

logger = logging.getLogger(__name__)

_NAMED_IN_A_LINE = 3


class Controller(Protocol):
    """A `ControllerLink`."""

    async def ask_once(self, request: Message, version: int) -> Any: ...


async def hand_over_leaderships(
    controller: Controller, request: ControlledShutdownRequest, version: int, *, max_retries: int, backoff_ms: int
) -> bool:
    """Ask until this broker leads nothing that another could, at most 1 + ``max_retries`` times; returns whether that
    came to be. (Kafka: controlled.shutdown.max.retries, .retry.backoff.ms.)"""
    for tries_left in range(max_retries, -1, -1):
        try:
            answer: ControlledShutdownResponse = await controller.ask_once(request, version)
        except (ConnectionError, TimeoutError) as error:
            why = str(error)
        else:
            why = _why_not(answer)
            if not why:
                logger.info("other brokers lead what this one has led")
                return True
        logger.warning("leaderships are not handed over yet, %d tries are left: %s", tries_left, why)
        if tries_left:
            await asyncio.sleep(backoff_ms / 1000)
    logger.warning("this broker stops although others depend on it: they find out by themselves")
    return False


def _why_not(answer: ControlledShutdownResponse) -> str:
    if answer.error_code:
        return f"error {ErrorCode(answer.error_code).name}"
    remaining = [f"{each.topic_name}-{each.partition_index}" for each in answer.remaining_partitions]
    if not remaining:
        return ""
    more = f" and {len(remaining) - _NAMED_IN_A_LINE} more" if len(remaining) > _NAMED_IN_A_LINE else ""
    return f"it still leads {', '.join(remaining[:_NAMED_IN_A_LINE])}{more}"
