"""The dispatcher while faults are set: it fails, delays, drops and changes the requests that faults fire on.

It takes the place of the listeners' `Dispatcher`, whose table of routes and counters it shares, and gives way to it
when the last fault has ended. A request that no fault may match goes the usual way.
**Order.** A delayed request holds the later requests of its connection, as a slow broker does: they start in order.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from ...base.frozen import frozen
from ...base.futures import set_done
from ...protocol.apis import API_SPECS, ApiKey
from ...protocol.codec import decode
from ...protocol.errors import error_for
from ..network.request import CloseConnectionError, ConnectionInfo, LaterReply, Reply, ReplyPart, Request
from ..requests.context import EncodedResponse, RequestContext
from ..requests.dispatch import Dispatcher, Route, describe
from .corruption import with_wrong_checksums
from .effects import Break, Delay, Fail, Hang, Throttle, Way
from .error_answers import merged, metadata_with_errors, session_is_unknown
from .fault import Fault
from .plan import Plan, needs_full_fetches, plan_of
from .request_items import TopicName

__all__ = ["BreakConnection", "FaultingDispatcher", "settled"]

_FINAL_EPOCH = -1
_FIRST_WITH_SESSIONS = 7
_MS_PER_S = 1000
_LEAST_DELAY_S = 0.001


class BreakConnection(Protocol):
    def __call__(self, connection: ConnectionInfo, parts: list[ReplyPart], after_bytes: int, *, is_reset: bool) -> None:
        """End the connection when the response ``parts`` is next, after so many bytes of it."""


class FaultingDispatcher(Dispatcher):
    """``faults``: those that are active, in their order. ``waiting_changed`` is told when a request begins to wait, and
    when none waits any more.

    ``brokers_listener``: other brokers send their requests there, on which faults without a ``client`` do not fire.
    """

    def __init__(
        self,
        plain: Dispatcher,
        faults: Callable[[], Sequence[Fault]],
        topic_name: TopicName,
        break_connection: BreakConnection,
        waiting_changed: Callable[[], None],
        brokers_listener: str | None = None,
    ) -> None:
        vars(self).update(vars(plain))  # the same routes, so that requests are counted in one place
        self._faults = faults
        self._topic_name = topic_name
        self._break_connection = break_connection
        self._waiting_changed = waiting_changed
        self._brokers_listener = brokers_listener
        self._turns: WeakKeyDictionary[ConnectionInfo, _Turn] = WeakKeyDictionary()
        self._waiting: dict[Fault, set[asyncio.Future[None]]] = {}
        self.held_count = 0
        """Requests that wait because of a fault, or behind such a request."""

    def release(self, fault: Fault) -> None:
        """The fault has ended: start the requests that wait because of it."""
        for future in self._waiting.pop(fault, ()):
            set_done(future)

    def release_all(self) -> None:
        """Start all requests that wait."""
        for fault in tuple(self._waiting):
            self.release(fault)

    def _handle(self, request: Request) -> Reply:
        turn = self._turns.get(request.connection)
        if turn is not None and turn.held_count:
            return self._hold(request, turn, _Start(None, lambda: self._with_faults(request)))
        step = self._with_faults(request)
        return self._hold(request, self._turn_of(request), step) if isinstance(step, _Start) else step

    # -- logins, whose requests the gate of the connection carries out

    def plan_of_login(self, request: Request) -> Plan | None:
        """The effects of faults on a request of a login; None: no fault can match it. Raises CloseConnectionError."""
        faults = self._faults_of(request)
        route = self._routes.get((request.api_key, request.api_version)) or self._find_route(request)
        if not faults or route is None:
            return None
        return plan_of(faults, route.key, route.version, self._decode(route, request), self._topic_name)

    def failed_login(self, request: Request, plan: Plan) -> list[ReplyPart] | None:
        """The response with the error of the plan."""
        return self._finish(self._routes[request.api_key, request.api_version], request, None, plan.failed)

    def without_faults(self, request: Request) -> Reply:
        """The reply to a request on which the faults have fired already."""
        return super()._handle(request)

    # -- all other requests

    def _faults_of(self, request: Request) -> list[Fault]:
        is_of_broker = request.connection.listener_name == self._brokers_listener
        return [
            each
            for each in self._faults()
            if each.target.may_match(request.api_key, request.client_id)
            and not (is_of_broker and each.target.client is None)
        ]

    def _with_faults(self, request: Request) -> "Reply | _Start":
        faults = self._faults_of(request)
        if not faults:
            return super()._handle(request)
        route = self._routes.get((request.api_key, request.api_version)) or self._find_route(request)
        if route is None:
            return self._too_new_api_versions(request)
        message: Any = self._decode(route, request)
        if route.key is ApiKey.FETCH and route.version >= _FIRST_WITH_SESSIONS and needs_full_fetches(faults):
            if message.session_epoch > 0:
                route.requests += 1
                return self._finish(route, request, None, session_is_unknown())
            message.session_epoch = _FINAL_EPOCH
        plan = plan_of(faults, route.key, route.version, message, self._topic_name)
        return self._carry_out(request, route, plan)

    def _carry_out(self, request: Request, route: Route, plan: Plan) -> "Reply | _Start":
        if plan.is_unanswerable:
            raise CloseConnectionError(f"{describe(request)}, which expects no response, failed by a fault of a test")
        if plan.rest is None:
            route.requests += 1
            return self._finish(route, request, None, plan.failed)

        def start() -> Reply:
            return self._serve(request, route, plan)

        wait = self.wait_of(plan)
        if wait is not None:
            return _Start(wait, start)
        if isinstance(plan.whole, Throttle):
            request.throttle(plan.whole.ms)
        return self.broken(request, plan, start)

    # -- requests that are carried out

    def _serve(self, request: Request, route: Route, plan: Plan) -> Reply:
        """As `Dispatcher._handle`, with a message that may be a part of the request, and a response that is changed."""
        route.requests += 1
        context = RequestContext.of(request, self._authorizer)
        message = plan.rest
        try:
            response = route.handler(context, message)
        except CloseConnectionError:
            raise
        except Exception as error:
            response = self._failure(route, request, message, error)
        if isinstance(response, Awaitable):
            is_changed = plan.failed is not None or plan.in_response
            later = self._changed_later(route, plan, response) if is_changed else response
            return self._reply_later(route, request, context, message, later)
        return self._finish(route, request, message, self._changed(route, plan, response))

    async def _changed_later(self, route: Route, plan: Plan, response: Awaitable[Any]) -> Any:
        return self._changed(route, plan, await response)

    def _changed(self, route: Route, plan: Plan, response: Any) -> Any:
        """The response with the errors of the plan, and with what its faults do to responses."""
        if response is None or (plan.failed is None and not plan.in_response):
            return response
        if isinstance(response, EncodedResponse):
            response = decode(API_SPECS[route.key].response_type(), response.encode_body(0), route.version)
        if plan.failed is not None:
            response = merged(response, plan.failed, route.version)
        for fault in plan.in_response:
            target = fault.target
            if isinstance(fault.effect, Fail):
                changed = metadata_with_errors(response, target.topic, error_for(fault.effect.code))
                response = changed if changed is not response and fault.take() else response
            else:
                response = with_wrong_checksums(response, target.topic, target.partition, self._topic_name, fault.take)
        return response

    # -- connections that end

    def broken(self, request: Request, plan: Plan, start: Callable[[], Reply]) -> Reply:
        """The reply of ``start``, or the end of the connection, if the plan says so."""
        if not isinstance(plan.whole, Break):
            return start()
        way = plan.whole.way
        is_reset = way is Way.RESET
        reply = None if is_reset or way is Way.BEFORE else start()
        return self.ended_with(request, reply, plan.whole.after_bytes, is_reset=is_reset)

    def ended_with(self, request: Request, reply: Reply, after_bytes: int, *, is_reset: bool = False) -> Reply:
        """The reply, of which so many bytes are sent before the connection ends."""

        def cut(parts: list[ReplyPart] | None) -> list[ReplyPart]:
            ending: list[ReplyPart] = [b""] if parts is None else parts
            self._break_connection(request.connection, ending, after_bytes, is_reset=is_reset)
            return ending

        if reply is None or isinstance(reply, list):
            return cut(reply)
        if isinstance(reply, LaterReply):
            settle = reply.settle
            return LaterReply(reply.future, lambda: cut(settle()))
        return _then(reply, cut)

    # -- requests that wait

    def wait_of(self, plan: Plan) -> "Callable[[], asyncio.Future[None]] | None":
        """Begins the wait before the request may start, which the end of its fault ends too; None: it need not wait."""
        fault = plan.by
        if fault is None:
            return None
        match plan.whole:
            case Delay(ms, jitter_ms):
                delay_s = (ms + random.uniform(0, jitter_ms)) / _MS_PER_S
                return lambda: self._until_removed(fault, max(delay_s, _LEAST_DELAY_S))
            case Hang():
                return lambda: self._until_removed(fault)
            case _:
                return None

    @contextmanager
    def holding(self) -> Iterator[None]:
        """Counts a request that waits."""
        self.held_count += 1
        if self.held_count == 1:
            self._waiting_changed()  # the fault may have ended with this request
        try:
            yield
        finally:
            self.held_count -= 1
            if not self.held_count:
                self._waiting_changed()

    def _turn_of(self, request: Request) -> "_Turn":
        return self._turns.setdefault(request.connection, _Turn())

    def _hold(self, request: Request, turn: "_Turn", start: "_Start") -> Awaitable[list[ReplyPart] | None]:
        held = _HeldRequest(request, start)
        request.abandon = held.abandon
        return self._held(turn, held)

    async def _held(self, turn: "_Turn", held: "_HeldRequest") -> list[ReplyPart] | None:
        with self.holding():
            turn.held_count += 1
            try:
                async with turn.lock:
                    reply = await held.started()
            finally:
                turn.held_count -= 1
        return await settled(reply)

    def _until_removed(self, fault: Fault, most_s: float | None = None) -> "asyncio.Future[None]":
        """Done when the fault is removed, or after ``most_s``."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if fault.is_removed:
            future.set_result(None)
            return future
        waiting = self._waiting.setdefault(fault, set())
        waiting.add(future)
        future.add_done_callback(waiting.discard)
        if most_s is not None:
            timer = loop.call_later(most_s, set_done, future)
            future.add_done_callback(lambda _: timer.cancel())
        return future


class _Turn:
    """The order of a connection's requests while some are held."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.held_count = 0


@frozen
class _Start:
    """The start of a request, after ``wait``. It may show that a fault makes the request wait again."""

    wait: Callable[[], asyncio.Future[None]] | None
    start: Callable[[], "Reply | _Start"]


class _HeldRequest:
    """A request that does not start yet. When its connection is lost before, it never starts."""

    def __init__(self, request: Request, start: _Start) -> None:
        self._request = request
        self._start = start
        self._waiting: asyncio.Future[None] | None = None
        self._is_abandoned = False

    async def started(self) -> Reply:
        """Wait, then start the request."""
        step: Reply | _Start = self._start
        while isinstance(step, _Start):
            if step.wait is not None and not self._is_abandoned:
                self._waiting = step.wait()
                await self._waiting
            if self._is_abandoned:
                return None
            self._request.abandon = None
            step = step.start()
        return step

    def abandon(self) -> None:
        self._is_abandoned = True
        if self._waiting is not None:
            set_done(self._waiting)
        if self._request.abandon is not None:  # set by the handler, when the request has started
            self._request.abandon()


async def settled(reply: Reply) -> list[ReplyPart] | None:
    """The parts of a reply, when they are known."""
    if isinstance(reply, LaterReply):
        await asyncio.wait([reply.future])
        return reply.settle()
    return reply if reply is None or isinstance(reply, list) else await reply


async def _then(
    reply: Awaitable[list[ReplyPart] | None], cut: Callable[[list[ReplyPart] | None], list[ReplyPart]]
) -> list[ReplyPart]:
    return cut(await reply)
