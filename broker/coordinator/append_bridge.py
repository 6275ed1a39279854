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
from ...storage.producers.verification_guards import VerificationGuard
from .internal_log import AppendDone, AppendOutcome, OffsetsLog

__all__ = ["AppendBridge"]

logger = logging.getLogger(__name__)

_Running = dict[asyncio.Future[int], AppendDone]


class AppendBridge:
    """A :class:`~.internal_log.RecordSink` over an :class:`~.internal_log.OffsetsLog`."""

    def __init__(self, log: OffsetsLog) -> None:
        self._log = log
        self._running: dict[int, _Running] = {}

    def append(
        self,
        partition: int,
        records: bytes,
        done: AppendDone,
        *,
        awaits_replicas: bool = True,
        guard: VerificationGuard | None = None,
    ) -> None:
        """Start the append; ``done`` is called with its outcome."""
        if not self._log.is_leader(partition):
            done(NotLeaderOrFollowerError())
            return
        appended = self._log.append(partition, records, awaits_replicas=awaits_replicas, guard=guard)
        future = asyncio.ensure_future(appended)
        self._running.setdefault(partition, {})[future] = done
        future.add_done_callback(partial(self._finish, partition))

    def abandon(self, partition: int) -> None:
        """Another broker leads the partition: complete its running appends with NotLeaderOrFollowerError at once."""
        for done in self._running.pop(partition, {}).values():
            done(NotLeaderOrFollowerError())

    async def drain(self) -> None:
        """Wait until all running appends have ended, with or without an error."""
        while self._running:
            await asyncio.wait([future for running in self._running.values() for future in running])

    def _finish(self, partition: int, future: asyncio.Future[int]) -> None:
        outcome = _outcome_of(partition, future)
        running = self._running.get(partition, {})
        done = running.pop(future, None)
        if not running:
            self._running.pop(partition, None)
        if done is not None:  # None: abandoned
            done(outcome)


def _outcome_of(partition: int, future: asyncio.Future[int]) -> AppendOutcome:
    if future.cancelled():
        return CoordinatorNotAvailableError()
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, KafkaError):
        return error
    logger.error("append to __consumer_offsets-%d failed unexpectedly", partition, exc_info=error)
    return UnknownServerError()
