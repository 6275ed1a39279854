"""Turns awaited appends into calls, so that the rest of the coordinator needs no asyncio."""

import asyncio
import logging
from functools import partial

from ....protocol.errors import CoordinatorNotAvailableError, KafkaError, NotLeaderOrFollowerError, UnknownServerError
from .ports import AppendDone, OffsetsLog

__all__ = ["AppendBridge"]

logger = logging.getLogger(__name__)


class AppendBridge:
    """A :class:`~.ports.RecordSink` over an :class:`~.ports.OffsetsLog`."""

    def __init__(self, log: OffsetsLog) -> None:
        self._log = log
        self._running: set[asyncio.Future[int]] = set()

    def append(self, partition: int, records: bytes, done: AppendDone) -> None:
        """Begin the append; ``done`` hears its outcome."""
        if not self._log.is_leader(partition):
            done(NotLeaderOrFollowerError())
            return
        future = asyncio.ensure_future(self._log.append(partition, records))
        self._running.add(future)
        future.add_done_callback(partial(self._finish, partition, done))

    async def drain(self) -> None:
        """Wait for the appends under way, whatever becomes of them."""
        while self._running:
            await asyncio.wait(list(self._running))

    def _finish(self, partition: int, done: AppendDone, future: asyncio.Future[int]) -> None:
        self._running.discard(future)
        if future.cancelled():
            done(CoordinatorNotAvailableError())
            return
        error = future.exception()
        if error is None:
            done(future.result())
        elif isinstance(error, KafkaError):
            done(error)
        else:
            logger.error("append to __consumer_offsets-%d failed unexpectedly", partition, exc_info=error)
            done(UnknownServerError())
