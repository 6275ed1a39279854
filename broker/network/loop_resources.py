"""The objects that all connections on one loop share: buffers, gate, memory budget, timers, tasks."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from inspect import CORO_CREATED, getcoroutinestate, iscoroutine
from typing import Any

from .admission.fair_queue import FairQueue
from .admission.gate import Gate
from .admission.memory import FrameMemory, MemoryBudget
from .disconnect_poll import DisconnectPoll
from .frame_pool import FramePool
from .frame_reader import new_shared_buffer
from .idle_connections import IdleConnections
from .local_socket_options import LocalSocketOptions
from .offender_log import OffenderLog
from .region_sender import RunInWorker
from .request import Handler, ReplyPart
from .request_header import HeaderVersion, RequestHeaderParser
from .request_timer import RequestTimer
from .settings import NetworkSettings
from .socket_states import closed_by_peer

__all__ = ["LoopResources"]


class LoopResources:
    """One per loop; it owns no connection."""

    def __init__(
        self,
        settings: NetworkSettings,
        handler: Handler,
        *,
        loop: asyncio.AbstractEventLoop,
        clock_ms: Callable[[], int],
        stopwatch_s: Callable[[], float],
        work_time_s: Callable[[], float],
        run_in_worker: RunInWorker,
        local_socket_options: LocalSocketOptions,
        header_version: HeaderVersion,
        logger: logging.Logger,
    ) -> None:
        self.settings = settings
        self.timer: RequestTimer | None = None
        """Takes the times of requests; None: nobody wants to know."""
        self.loop = loop
        self.clock_ms = clock_ms
        self.run_in_worker = run_in_worker
        self.local_socket_options = local_socket_options
        self.headers = RequestHeaderParser(header_version)
        self.read_buffer = new_shared_buffer()
        self._long_reader: object = None
        self._long_read_ms = -1
        self.frame_pool = FramePool()
        self.disconnects = DisconnectPoll(self.call_later, closed_by_peer)
        self.idle = IdleConnections(settings.max_idle_ms / 1000, self.call_later, loop.time)
        frames = FrameMemory(
            settings.max_queued_bytes,
            settings.max_queued_requests,
            self.call_later,
            loop.call_soon,
            loop.time,
            self.idle.by_activity,
        )
        self.memory = MemoryBudget(frames, settings.max_unsent_bytes, settings.max_decoded_bytes)
        queue = FairQueue(loop, self.call_later, stopwatch_s)
        self.gate = Gate(handler, queue, self.memory, work_time_s, loop.call_soon, self.new_task)
        self.offenders = OffenderLog(logger, loop.time)
        self.tasks: set[asyncio.Task[list[ReplyPart] | None]] = set()
        """Tasks of handlers that are coroutines; kept here, because the loop has only weak references to tasks."""

    def may_read_long(self, connection: object) -> bool:
        """Whether the connection may do a long read: one connection a millisecond, so that heavy senders alternate."""
        now_ms = int(self.loop.time() * 1000)
        if self._long_reader is not connection:
            if self._long_read_ms == now_ms:
                return False
            self._long_reader = connection
        self._long_read_ms = now_ms
        return True

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """The loop's ``call_later``, with a delay of at least one millisecond.

        uvloop's clock stands still while it runs due timers, and it runs them until none is due. A timer that fires a
        rounding error too early and is set again for the remaining time would so block the loop for ever.
        """
        return self.loop.call_later(max(delay_s, 0.001), callback)

    def new_task(
        self, in_steps: Coroutine[Any, Any, list[ReplyPart] | None], work: Awaitable[list[ReplyPart] | None]
    ) -> asyncio.Task[list[ReplyPart] | None]:
        """A task of a handler's coroutine ``work``, which ``in_steps`` runs."""
        task = self.loop.create_task(in_steps)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        if isinstance(work, Coroutine):  # a task that is cancelled before its first step never enters it
            task.add_done_callback(lambda done: _close(work) if done.cancelled() else work.close())
        return task

    def kill_tasks(self) -> None:
        for task in tuple(self.tasks):
            task.cancel()

    async def cancel_tasks(self) -> None:
        self.kill_tasks()
        await asyncio.gather(*self.tasks, return_exceptions=True)


def _close(work: Coroutine[Any, Any, Any]) -> None:
    """Close a coroutine, and if it never began, those that it was to await: they are among its arguments."""
    if iscoroutine(work) and getcoroutinestate(work) == CORO_CREATED and work.cr_frame is not None:
        for argument in work.cr_frame.f_locals.values():
            if iscoroutine(argument):
                _close(argument)
    work.close()
