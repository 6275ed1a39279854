"""What all connections on one loop share."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import cast

from .decoded_requests import DecodedAccounts
from .disconnect_poll import DisconnectPoll
from .frame_pool import FramePool
from .frame_reader import new_shared_buffer
from .heavy_requests import HeavyRequests
from .idle_connections import IdleConnections
from .local_peers import LocalPeers
from .measured_work import MeasuredWork
from .protocol_sniffing import OffenderLog
from .region_sender import RunInWorker
from .request import Handler, ReplyPart
from .request_header import HeaderVersion, RequestHeaderParser
from .request_memory import RequestMemory
from .settings import NetworkSettings
from .socket_states import hung_up, unread_bytes
from .stalled_halves import HalfFrameUser, StalledHalves
from .step_turns import StepTurns
from .trickles import Trickles
from .unsent_memory import UnsentMemory

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
        local_peers: LocalPeers,
        header_version: HeaderVersion,
        logger: logging.Logger,
    ) -> None:
        self.settings = settings
        self.handler = handler
        self.loop = loop
        self.clock_ms = clock_ms
        self.run_in_worker = run_in_worker
        self.local_peers = local_peers
        self.headers = RequestHeaderParser(header_version)
        self.read_buffer = new_shared_buffer()
        self._long_reader: object = None
        self._long_read_ms = -1
        self.frame_pool = FramePool()
        self.memory = RequestMemory(
            settings.max_queued_bytes, settings.max_queued_requests, self.call_later, loop.time, loop.call_soon
        )
        self.stopwatch_s = stopwatch_s
        self.work_time_s = work_time_s
        self.heavy = HeavyRequests(self.call_later, stopwatch_s)
        self.produce_in_vain = HeavyRequests(self.call_later, stopwatch_s)
        self.decoded = DecodedAccounts(settings.max_decoded_bytes, loop.call_soon, self.call_later)
        self.steps = StepTurns(loop)
        self.trickles = Trickles(self.call_later, loop.time)
        self.disconnects = DisconnectPoll(self.call_later, hung_up)
        self.unsent = UnsentMemory(settings.max_unsent_bytes)
        self.idle = IdleConnections(settings.max_idle_ms / 1000, self.call_later, loop.time)
        longest_silent = cast("Callable[[], list[HalfFrameUser]]", self.idle.by_activity)
        self.stalled_halves = StalledHalves(
            self.memory, longest_silent, unread_bytes, settings.receive_buffer_bytes, self.call_later, loop.time
        )
        self.offenders = OffenderLog(logger, loop.time)
        self.tasks: set[asyncio.Task[list[ReplyPart] | None]] = set()
        """Of handlers that are coroutines; kept, for the loop knows its tasks only weakly."""

    def may_read_long(self, connection: object) -> bool:
        """One of them may in a millisecond: where many send much, each has its turn soon."""
        now_ms = int(self.loop.time() * 1000)
        if self._long_reader is not connection:
            if self._long_read_ms == now_ms:
                return False
            self._long_reader = connection
        self._long_read_ms = now_ms
        return True

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        """The loop's, but never in less than a millisecond.

        uvloop's clock stands still while it runs timers, and it runs those that are due until there are none: one that
        is a rounding error too early and asks for the rest of its time would keep the loop for ever.
        """
        return self.loop.call_later(max(delay_s, 0.001), callback)

    def new_task(
        self,
        awaitable: Awaitable[list[ReplyPart] | None],
        begun: Callable[[], None],
        noted: Callable[[float, float], None] | None = None,
    ) -> asyncio.Task[list[ReplyPart] | None]:
        """``noted`` is told after each of its steps for how many s that has kept the loop, and all of them by now; then
        it has turns with others of its kind. ``begun`` is called in the turn of the loop behind its first step."""
        work = awaitable if asyncio.iscoroutine(awaitable) else _await(awaitable)
        if noted is not None:
            work = MeasuredWork(work, self.work_time_s, noted, partial(self.loop.call_soon, begun), self.steps)
        task = self.loop.create_task(work)
        if noted is None:
            self.loop.call_soon(begun)  # behind its first step, which is in the loop's next turn
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def kill_tasks(self) -> None:
        for task in tuple(self.tasks):
            task.cancel()

    async def cancel_tasks(self) -> None:
        self.kill_tasks()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def _await(awaitable: Awaitable[list[ReplyPart] | None]) -> list[ReplyPart] | None:
    return await awaitable
