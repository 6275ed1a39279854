"""The gate: every request passes here once, on its way from its frame to its handler.

`Gate.admits` decides whether the request may start. `Gate.handle` calls the handler, and `Gate.finish_later` takes its
reply when the response comes later; both charge the connection for the cost. A request may be expensive when it is
larger than `LARGE_BYTES`, when its connection is in debt for an earlier one, or when no request of its API has been
cheap on this connection; a produce request when it is large and the connection's last large one was refused or had
partitions without records. Such a request uses the fair queue. Unless it is answered in its first step, it also counts
in an account of decoded memory. To come: quotas and metrics here, authorisation in the dispatcher before the handler.
"""

import sys
from asyncio import Task, iscoroutine
from collections.abc import Awaitable, Callable, Coroutine, Generator
from functools import partial
from types import coroutine
from typing import Any, TypeAlias, cast

from ....protocol.apis import ApiKey
from ..loop_share import LoopShare
from ..managed_connection import ManagedConnection
from ..request import Handler, LaterReply, Reply, ReplyPart, Request
from .fair_queue import LONG_S, DecodedLane, FairQueue, Lane
from .memory import MemoryBudget

__all__ = ["KEEPS_FRAME", "LARGE_BYTES", "Gate"]

NewTask: TypeAlias = Callable[
    [Coroutine[Any, Any, list[ReplyPart] | None], Awaitable[list[ReplyPart] | None]], Task[list[ReplyPart] | None]
]
"""`LoopResources.new_task`."""


def _keys(*apis: ApiKey) -> frozenset[int]:
    return frozenset(api.value for api in apis)


LARGE_BYTES = 16 * 1024
LONG_FETCH_S = 0.005
"""In place of `LONG_S` for fetches and broker APIs: well-behaved clients fetch hundreds of partitions at a time."""
_PRODUCE = ApiKey.PRODUCE.value  # plain numbers: an enum's attributes are slow, and every request needs these
KEEPS_FRAME = frozenset((_PRODUCE,))
"""APIs whose handlers work with the frame until they answer, so that it counts in account `frames` until then."""
_FETCH_AND_BROKER_APIS = _keys(
    ApiKey.FETCH,
    ApiKey.LEADER_AND_ISR,
    ApiKey.STOP_REPLICA,
    ApiKey.UPDATE_METADATA,
    ApiKey.CONTROLLED_SHUTDOWN,
    ApiKey.WRITE_TXN_MARKERS,
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    ApiKey.ALTER_PARTITION,
    ApiKey.ALLOCATE_PRODUCER_IDS,
)
_CHEAP_AT_FIRST: int = sum(1 << key for key in (*_FETCH_AND_BROKER_APIS, _PRODUCE, ApiKey.API_VERSIONS.value))
_NOT_COUNTED = _FETCH_AND_BROKER_APIS | _keys(ApiKey.PRODUCE, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.SHARE_FETCH)
"""APIs whose requests count in no account of decoded memory; their handlers limit the memory of waiting requests."""
_COUNTED_IN_DECODED = _keys(
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.OFFSET_COMMIT,
    ApiKey.OFFSET_FETCH,
    ApiKey.FIND_COORDINATOR,
    ApiKey.DESCRIBE_GROUPS,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.CONSUMER_GROUP_DESCRIBE,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
)
"""APIs whose requests count in account `decoded`. All APIs in neither set count in account `administration`."""
_S_PER_RESPONSE_BYTE = 1.5e-7
"""Cost of a produce request that contains thousands of partitions without records."""
_S_PER_REFUSED_BYTE = 1e-9
"""Cost of reading and checking records that are refused."""


class Gate:
    """One per loop. ``work_time_s``: CPU time of the thread, so that other threads' work is not charged."""

    def __init__(
        self,
        handler: Handler,
        queue: FairQueue,
        memory: MemoryBudget,
        work_time_s: Callable[[], float],
        call_soon: Callable[[Callable[[], object]], object],
        new_task: NewTask,
    ) -> None:
        self.handler = handler
        self.queue = queue
        self._work_time_s = work_time_s
        self._call_soon = call_soon
        self._new_task = new_task
        self._requests = queue.requests
        self._decoded_lane = queue.new_lane(memory.decoded)
        self._administration_lane = queue.new_lane(memory.administration)
        self._admitted: ManagedConnection | None = None

    def new_share(self) -> LoopShare:
        return LoopShare(_CHEAP_AT_FIRST)

    def admits(self, connection: ManagedConnection, api_key: int, frame_bytes: int, *, has_others: bool) -> bool:
        """Whether the request may start. If not, the fair queue calls ``connection.start_queued`` later.

        ``has_others``: requests of the connection are under way.
        """
        share = connection.share
        share.is_expensive = is_expensive = self._may_be_expensive(share, api_key, frame_bytes)
        queue = self.queue
        lane: Lane = self._requests
        if api_key not in _NOT_COUNTED:
            account_lane = self._lane_of(api_key)
            is_small = frame_bytes <= LARGE_BYTES and not has_others
            if not is_small or not account_lane.account.has_space_for_one_more():
                lane = account_lane
        if self._admitted is connection:
            self._admitted = None
            may_start = lane.is_open or queue.serving is lane
        else:
            may_start = lane.is_open and not (lane.waiting and lane is not self._requests)
            may_start = may_start and (not is_expensive or queue.is_free(lane))
        if not may_start:
            queue.wait(lane, connection)
        return may_start

    def let_start(self, connection: ManagedConnection, start: Callable[[], None]) -> None:
        """Call ``start``, in which the connection's next request is admitted if its lane is open or being served."""
        self._admitted = connection
        start()
        self._admitted = None

    def handle(self, share: LoopShare, request: Request) -> Reply:
        """The handler's reply. Raises what the handler raises.

        The connection is charged for the handler's CPU time. Produce is not timed, because two readings of the CPU
        clock take 1 µs of a small request; it is charged for wasted work instead (`_charge_produce`).
        """
        api_key = request.api_key
        if api_key == _PRODUCE:
            frame_bytes = len(request.frame)
            reply = self.handler(request)
            if frame_bytes > LARGE_BYTES and isinstance(reply, list):
                self._charge_produce(share, request, frame_bytes, reply)
            return reply
        started_s = self._work_time_s()
        try:
            return self.handler(request)
        finally:
            self._charge(share, api_key, self._work_time_s() - started_s)

    def finish_later(
        self,
        share: LoopShare,
        request: Request,
        frame_bytes: int,
        reply: LaterReply | Awaitable[list[ReplyPart] | None],
        begun: Callable[[], object],
    ) -> LaterReply:
        """Count the memory of a request that is not answered in its first step, until it is, and charge its cost.

        A coroutine is run as a task; the returned reply is the task's result. ``begun`` is called when it has started
        and the next request may start.
        """
        api_key = request.api_key
        if not isinstance(reply, LaterReply):
            task = self._new_task(self._in_steps(share, api_key, reply, begun), reply)
            reply = LaterReply(task, task.result)
        if api_key not in _NOT_COUNTED:
            account = self._lane_of(api_key).account
            size_bytes = account.take(frame_bytes)
            reply.future.add_done_callback(lambda _done: account.give_back(size_bytes))
        elif api_key == _PRODUCE and frame_bytes > LARGE_BYTES:
            reply = LaterReply(reply.future, partial(self._settle_produce, share, request, frame_bytes, reply.settle))
        return reply

    async def _in_steps(
        self, share: LoopShare, api_key: int, work: Awaitable[list[ReplyPart] | None], begun: Callable[[], object]
    ) -> list[ReplyPart] | None:
        """The result of a handler's coroutine. Each step waits in the fair queue, and its CPU time is measured.

        ``begun`` is called in the iteration after the first step.
        """
        # Not for brokers: an order to lead must not wait for the one before it.
        if api_key in _FETCH_AND_BROKER_APIS or not iscoroutine(work):
            self._call_soon(begun)
            return await work
        lane = None if api_key in _NOT_COUNTED else self._lane_of(api_key)
        parts: list[ReplyPart] | None = await self._steps(share, lane, work, begun)
        return parts

    def _may_be_expensive(self, share: LoopShare, api_key: int, frame_bytes: int) -> bool:
        if api_key == _PRODUCE:
            return share.wastes_produce and frame_bytes > LARGE_BYTES
        if frame_bytes > LARGE_BYTES or not share.cheap_apis >> api_key & 1:
            return True
        return share.debt_until_s > 0.0 and self.queue.is_in_debt(share)

    def _lane_of(self, api_key: int) -> DecodedLane:
        return self._decoded_lane if api_key in _COUNTED_IN_DECODED else self._administration_lane

    def _charge(self, share: LoopShare, api_key: int, took_s: float) -> None:
        share.used_s += took_s
        if took_s <= LONG_S:
            share.cheap_apis |= 1 << api_key
        is_long = took_s > (LONG_FETCH_S if api_key in _FETCH_AND_BROKER_APIS else LONG_S)
        if is_long or share.is_expensive:
            self.queue.used(share, took_s)
        if is_long:
            self.queue.rest(took_s)
            self.queue.put_in_debt(share, took_s)

    def _settle_produce(
        self, share: LoopShare, request: Request, frame_bytes: int, settle: Callable[[], list[ReplyPart] | None]
    ) -> list[ReplyPart] | None:
        response = settle()
        if response:
            self._charge_produce(share, request, frame_bytes, response)
        return response

    def _charge_produce(self, share: LoopShare, request: Request, frame_bytes: int, response: list[ReplyPart]) -> None:
        """A large produce request was answered: charge it if it was wasted work."""
        body_bytes = len(cast("bytes", response[-1]))
        cost_s = 0.0
        if body_bytes > frame_bytes:
            cost_s = body_bytes * _S_PER_RESPONSE_BYTE
        elif request.records_were_refused:
            cost_s = frame_bytes * _S_PER_REFUSED_BYTE
        share.wastes_produce = cost_s > 0
        share.last_cost_s = cost_s
        if cost_s:
            self.queue.used(share, cost_s)
            self.queue.rest(cost_s, adds=True)

    @coroutine
    def _steps(
        self, share: LoopShare, lane: DecodedLane | None, work: Coroutine[Any, Any, Any], begun: Callable[[], object]
    ) -> Generator[Any, Any, Any]:
        is_expensive = share.is_expensive
        request_s = 0.0
        send: Callable[[Any], Any] = work.send
        value: Any = None
        while True:
            if not self.queue.may_step(is_expensive=is_expensive):
                try:
                    yield from self.queue.step_permit(share, is_expensive=is_expensive)
                except BaseException as error:  # the task is cancelled
                    send, value = work.throw, error
            started_s = self._work_time_s()
            try:
                waits_for = send(value)
            except StopIteration as end:
                return end.value
            finally:
                step_s = self._work_time_s() - started_s
                if not request_s:
                    self._call_soon(begun)
                request_s += step_s or sys.float_info.min
                self._stepped(share, lane, step_s, request_s)
            try:
                send, value = work.send, (yield waits_for)
            except BaseException as error:
                send, value = work.throw, error

    def _stepped(self, share: LoopShare, lane: DecodedLane | None, step_s: float, request_s: float) -> None:
        if lane is not None:
            lane.has_moved = True
        self.queue.stepped(share, step_s)
        if step_s > LONG_S:
            self.queue.rest(step_s)
        if request_s > LONG_S:
            self.queue.put_in_debt(share, request_s)
