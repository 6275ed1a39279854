"""The strand of a log: a queue that runs the log's changes one at a time, in the order they were submitted.

How: a worker drains the queue, and neighbouring appends become one write. Long work (see `worker_pool`) is done one
group at a time, and the strand then queues again. A quick append on an idle strand runs on the event loop itself, as
long as the disk is fast (see `inline_append`); when it needs a new segment, a worker continues it.
`_drain`, `_drain_long` and what they call run on workers, `run_now` runs on the caller's thread, and everything else
runs on the event loop.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from ...protocol.errors import KafkaError
from ..producers.prepared_append import PreparedAppend
from ..workers.callbacks import call_isolated
from ..workers.long_work_queue import LongWorkSource
from ..workers.worker_pool import Pool, PoolClosedError
from .append_group import append_together
from .inline_append import InlineBudget, is_long, is_quick_append
from .log import Log
from .log_append import FollowerAppend, LeaderAppend, LogAppendInfo

logger = logging.getLogger(__name__)

AppendCallback = Callable[[LogAppendInfo | Exception], None]
StepCallback = Callable[[Any], None]

_MAX_GROUP = 256
_MAX_LONG_BYTES = 1 << 20
"""Most bytes of a group of long appends, not counting the last one."""
_S_FOR_A_BYTE = 1e-7
"""Estimated time of a long append: between gzip's 50 ns and the 250 ns of zstd at its highest level."""


class Strand:
    """The strand of `log`.

    Callbacks run on the event loop. The callback of an inline append runs before `append` returns.
    """

    __slots__ = ("_budget", "_busy", "_long_work", "_pool", "_queue", "_step", "log")

    def __init__(self, log: Log, pool: Pool, budget: InlineBudget | None = None) -> None:
        self.log = log
        self._pool = pool
        self._budget = budget if budget is not None else InlineBudget()
        self._queue: deque[tuple[Any, Callable[[Any], None] | None, bool]] = deque()
        self._busy = False
        self._long_work: LongWorkSource | None = None  # most logs never have long work
        self._step = threading.Lock()  # taken for each step, by a worker, the loop, or the caller of `run_now`

    @property
    def is_idle(self) -> bool:
        return not self._busy

    def use_budget(self, budget: InlineBudget) -> None:
        """Use the budget of another log directory, to which the log has moved. From any thread."""
        self._budget = budget

    def append(self, append: LeaderAppend | FollowerAppend, callback: AppendCallback) -> None:
        """Append; `callback` gets the result or the error (a KafkaError; any other exception is a bug)."""
        if not self._busy and is_quick_append(append, self.log.config):
            budget = self._budget
            started = budget.now()
            if started >= budget.paused_until:
                log = self.log
                self._busy = True  # work that the append itself submits waits until it is done
                with self._step:
                    result = _run(log, log.append_unless_roll_needed, append)
                budget.spent(started, budget.now())
                if isinstance(result, PreparedAppend):
                    self._queue.appendleft((partial(_append_to_new_segment, result, append), callback, False))
                    self._hand_back()
                else:
                    self._hand_back()
                    callback(result)
                return
        self._put(append, callback, is_long(append, self.log.config))

    def submit(
        self, step: Callable[[Log], Any], callback: StepCallback | None = None, *, is_long: bool = False
    ) -> None:
        """Run `step` on a worker after everything queued before it; `callback` gets its result or its exception."""
        self._put(step, callback, is_long)

    def run_now(self, step: Callable[[Log], Any]) -> Any:
        """Run `step` on this thread (not the event loop's), ahead of the queue: it waits for the running step only."""
        with self._step:
            return step(self.log)

    def fence(self, leader_epoch: int) -> None:
        """Make every later append fail that was accepted in an older leader epoch."""
        if self._busy:
            self._put(lambda log: log.fence(leader_epoch), None, False)
        else:
            self.log.fence(leader_epoch)

    def _put(self, item: Any, callback: Callable[[Any], None] | None, is_long: bool) -> None:
        self._queue.append((item, callback, is_long))
        if not self._busy:
            self._busy = True
            self._have_drained()

    def _have_drained(self) -> None:
        try:
            if self._queue[0][2]:
                if self._long_work is None:
                    self._long_work = LongWorkSource(self._expected_s())
                self._pool.submit_long(self._drain_long, self._long_work)
            else:
                self._pool.submit(self._drain)
        except PoolClosedError:
            self._run_all()  # the broker is stopping and its logs are closed: the steps fail at once

    def _expected_s(self) -> float:
        """Estimate how long the first step will take."""
        item = self._queue[0][0]
        return len(item.records) * _S_FOR_A_BYTE if _is_append(item) else 0.0

    def _drain(self) -> None:
        """On a worker: run the queued steps up to the next long one, then hand the strand back."""
        queue = self._queue
        try:
            while queue and not queue[0][2]:
                self._run_next()
        finally:
            self._pool.post(self._hand_back)

    def _run_all(self) -> None:
        while self._queue:
            self._run_next()
        self._pool.post(self._hand_back)

    def _drain_long(self) -> None:
        try:
            self._run_next()
        finally:
            self._pool.post(self._hand_back)

    def _run_next(self) -> None:
        """Run one step, or a group of appends."""
        items = [self._queue.popleft()]
        if _is_append(items[0][0]):
            self._take_group(items)
            with self._step:
                results = _run_appends(self.log, [item for item, _, _ in items])
        else:
            with self._step:
                results = [_run(self.log, items[0][0], self.log)]
        self._pool.post(_deliver, items, results)

    def _take_group(self, items: list[tuple[Any, Callable[[Any], None] | None, bool]]) -> None:
        queue, is_long = self._queue, items[0][2]
        size_bytes = len(items[0][0].records) if is_long else 0
        while queue and len(items) < _MAX_GROUP and size_bytes < _MAX_LONG_BYTES:
            if not _is_append(queue[0][0]) or queue[0][2] is not is_long:
                return
            items.append(queue.popleft())
            if is_long:
                size_bytes += len(items[-1][0].records)

    def _hand_back(self) -> None:
        if self._queue:
            self._have_drained()
        else:
            self._busy = False


def _is_append(item: Any) -> bool:
    return isinstance(item, LeaderAppend | FollowerAppend)


def _append_to_new_segment(prepared: PreparedAppend, append: LeaderAppend | FollowerAppend, log: Log) -> LogAppendInfo:
    return log.append_to_new_segment(prepared, append)


def _run_appends(log: Log, appends: list[LeaderAppend | FollowerAppend]) -> list[Any]:
    if len(appends) == 1:
        return [_run(log, log.append, appends[0])]
    try:
        return list(append_together(log, appends))
    except Exception as error:
        return [_unexpected(log, error)] * len(appends)


def _run(log: Log, step: Callable[[Any], Any], argument: Any) -> Any:
    try:
        return step(argument)
    except KafkaError as error:
        return error
    except Exception as error:
        return _unexpected(log, error)


def _unexpected(log: Log, error: Exception) -> Exception:
    """Log a bug or a broken invariant; the caller of the step gets the exception."""
    logger.error("%s: a step failed", log.topic_partition, exc_info=error)
    return error


def _deliver(items: list[tuple[Any, Callable[[Any], None] | None, bool]], results: list[Any]) -> None:
    for (_, callback, _), result in zip(items, results, strict=True):
        if callback is not None:
            call_isolated(callback, result)
