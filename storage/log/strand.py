"""The queue of one log: what changes it runs one step at a time, in the order it was asked for.

A worker that takes the strand drains it, and appends that stand next to each other go into the log in one write. Of
bulk (see `worker_pool`) it does one group, and then the strand waits for its turn again. An append that is little work
runs right on the loop when the strand is idle, which is cheaper than two hops between threads, for as long as the
directory's disk answers fast (see `inline_append`). When it turns out that it has to begin a segment, a worker goes on
with it.

Everything here but `_drain` runs on the loop.
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
from ..workers.bulk_queue import BulkSource
from ..workers.callbacks import call_apart
from ..workers.worker_pool import Pool, PoolClosedError
from .inline_append import InlineBudget, is_bulk, is_little_work
from .log import Log
from .log_append import FollowerAppend, LeaderAppend, LogAppendInfo

logger = logging.getLogger(__name__)

AppendCallback = Callable[[LogAppendInfo | Exception], None]
StepCallback = Callable[[Any], None]

_MAX_GROUP = 256
_MAX_BULK_BYTES = 1 << 20
"""Of a group of appends that are bulk, but for the last one."""
_S_FOR_A_BYTE = 1e-7
"""Of bulk, between gzip's 50 ns and the 250 ns of zstd at its hardest level."""


class Strand:
    """The strand of `log`. Callbacks run on the loop; that of an append done inline runs before `append` returns."""

    __slots__ = ("_budget", "_bulk", "_busy", "_pool", "_queue", "_step", "log")

    def __init__(self, log: Log, pool: Pool, budget: InlineBudget | None = None) -> None:
        self.log = log
        self._pool = pool
        self._budget = budget if budget is not None else InlineBudget()
        self._queue: deque[tuple[Any, Callable[[Any], None] | None, bool]] = deque()
        self._busy = False
        self._bulk: BulkSource | None = None  # most logs never have any
        self._step = threading.Lock()  # held by whoever runs a step: a worker, the loop, or `run_now`'s caller

    @property
    def is_idle(self) -> bool:
        return not self._busy

    def use_budget(self, budget: InlineBudget) -> None:
        """The log lies in another directory now. From any thread."""
        self._budget = budget

    def append(self, append: LeaderAppend | FollowerAppend, callback: AppendCallback) -> None:
        """Append; `callback` gets what became of it, or the error (a KafkaError, or another one, which is a bug)."""
        if not self._busy and is_little_work(append, self.log.config):
            budget = self._budget
            started = budget.now()
            if started >= budget.paused_until:
                log = self.log
                self._busy = True  # what the append itself asks for waits behind it
                with self._step:
                    result = _run(log, log.append_unless_full, append)
                budget.spent(started, budget.now())
                if isinstance(result, PreparedAppend):
                    self._queue.appendleft((partial(_append_to_new_segment, result, append.now_ms), callback, False))
                    self._hand_back()
                else:
                    self._hand_back()
                    callback(result)
                return
        self._put(append, callback, is_bulk(append, self.log.config))

    def submit(
        self, step: Callable[[Log], Any], callback: StepCallback | None = None, *, is_bulk: bool = False
    ) -> None:
        """Run `step` on a worker when what is queued is done; `callback` gets what it returned or raised."""
        self._put(step, callback, is_bulk)

    def run_now(self, step: Callable[[Log], Any]) -> Any:
        """Run `step` on this thread, which may not be the loop's, before what is queued: it waits for one step only."""
        with self._step:
            return step(self.log)

    def fence(self, leader_epoch: int) -> None:
        """Appends that come behind this, and those still queued behind it, fail when accepted under an older epoch."""
        if self._busy:
            self._put(lambda log: log.fence(leader_epoch), None, False)
        else:
            self.log.fence(leader_epoch)

    def _put(self, item: Any, callback: Callable[[Any], None] | None, is_bulk: bool) -> None:
        self._queue.append((item, callback, is_bulk))
        if not self._busy:
            self._busy = True
            self._have_drained()

    def _have_drained(self) -> None:
        try:
            if self._queue[0][2]:
                if self._bulk is None:
                    self._bulk = BulkSource(self._expected_s())
                self._pool.submit_bulk(self._drain_bulk, self._bulk)
            else:
                self._pool.submit(self._drain)
        except PoolClosedError:
            self._run_all()  # the broker stops, its logs are closed: what came last of all fails at once

    def _expected_s(self) -> float:
        """So long the first bulk takes, roughly."""
        item = self._queue[0][0]
        return len(item.records) * _S_FOR_A_BYTE if _is_append(item) else 0.0

    def _drain(self) -> None:
        """On a worker: run all that is queued up to the next bulk, then hand the strand back."""
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

    def _drain_bulk(self) -> None:
        try:
            self._run_next()
        finally:
            self._pool.post(self._hand_back)

    def _run_next(self) -> None:
        """A step, or a group of appends."""
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
        queue, is_bulk = self._queue, items[0][2]
        size_bytes = len(items[0][0].records) if is_bulk else 0
        while queue and len(items) < _MAX_GROUP and size_bytes < _MAX_BULK_BYTES:
            if not _is_append(queue[0][0]) or queue[0][2] is not is_bulk:
                return
            items.append(queue.popleft())
            if is_bulk:
                size_bytes += len(items[-1][0].records)

    def _hand_back(self) -> None:
        if self._queue:
            self._have_drained()
        else:
            self._busy = False


def _is_append(item: Any) -> bool:
    return isinstance(item, LeaderAppend | FollowerAppend)


def _append_to_new_segment(prepared: PreparedAppend, now_ms: int, log: Log) -> LogAppendInfo:
    return log.append_to_new_segment(prepared, now_ms)


def _run_appends(log: Log, appends: list[LeaderAppend | FollowerAppend]) -> list[Any]:
    if len(appends) == 1:
        return [_run(log, log.append, appends[0])]
    try:
        return list(log.append_many(appends))
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
    """A bug, or a broken invariant: whoever asked gets it, and decides what it stops."""
    logger.error("%s: a step failed", log.topic_partition, exc_info=error)
    return error


def _deliver(items: list[tuple[Any, Callable[[Any], None] | None, bool]], results: list[Any]) -> None:
    for (_, callback, _), result in zip(items, results, strict=True):
        if callback is not None:
            call_apart(callback, result)
