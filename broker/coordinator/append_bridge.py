"""Turns appends that are awaited into appends with a callback, so that other coordinator code needs no asyncio."""

import asyncio
import logging
from functools import partial

from ...protocol.errors import (
    CoordinatorNotAvailableError,
    KafkaError,
    NotLeaderOrFollowerError,
    UnknownServerError,
)
from .internal_log import AppendDone, AppendOutcome, InternalAppend, InternalLog

__all__ = ["AppendBridge"]

logger = logging.getLogger(__name__)

_Running = dict[asyncio.Future[int], AppendDone]


class AppendBridge:
    """A `RecordSink` over an `InternalLog`."""

    def __init__(self, log: InternalLog) -> None:
        self._log = log
        self._running: dict[int, _Running] = {}

    def append(self, append: InternalAppend, done: AppendDone) -> None:
        """Start the append; ``done`` is called with its outcome, maybe before this returns."""
        partition = append.partition
        if not self._log.is_leader(partition):
            done(NotLeaderOrFollowerError())
            return
        future = asyncio.ensure_future(self._log.append(append))
        if future.done():
            done(self._outcome_of(partition, future))
            return
        self._running.setdefault(partition, {})[future] = done
        future.add_done_callback(partial(self._finish, partition))

    def abandon(self, partition: int) -> None:
        """Another broker leads the partition: complete its running appends with NotLeaderOrFollowerError at once."""
        for done in self._running.pop(partition, {}).values():
            done(NotLeaderOrFollowerError())

    def abandon_all(self) -> None:
        """The broker stops: complete all running appends with NotLeaderOrFollowerError at once."""
        for partition in list(self._running):
            self.abandon(partition)

    async def drain(self) -> None:
        """Wait until all running appends have ended, with or without an error."""
        while self._running:
            await asyncio.wait([future for running in self._running.values() for future in running])

    def _finish(self, partition: int, future: asyncio.Future[int]) -> None:
        outcome = self._outcome_of(partition, future)
        running = self._running.get(partition, {})
        done = running.pop(future, None)
        if not running:
            self._running.pop(partition, None)
        if done is not None:  # None: abandoned
            done(outcome)

    def _outcome_of(self, partition: int, future: asyncio.Future[int]) -> AppendOutcome:
        if future.cancelled():
            return CoordinatorNotAvailableError()
        error = future.exception()
        if error is None:
            return future.result()
        if isinstance(error, KafkaError):
            return error
        logger.error("append to %s-%d failed unexpectedly", self._log.topic, partition, exc_info=error)
        return UnknownServerError()
