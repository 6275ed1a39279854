"""The gate of a connection whose client must log in, while tests may set faults on the requests of logins.

The dispatcher sees no request of a login but ApiVersions, so this gate asks the `FaultingDispatcher` about all of them.
Tokens without a request header (SaslHandshake v0) pass.
"""

import asyncio
import sys
from collections.abc import Awaitable, Callable

from ...protocol.apis import ApiKey
from ..network.frame_gate import FrameGate, GateReply
from ..network.request import ConnectionInfo, LaterReply, Reply, ReplyPart, Request
from ..network.request_header import BadRequestHeaderError, RequestHeaderParser
from .faulting_dispatcher import FaultingDispatcher, settled
from .plan import Plan

__all__ = ["LoginWithFaults"]

_WHOLE = sys.maxsize
_headers = RequestHeaderParser()


class LoginWithFaults:
    """A `FrameGate` around ``gate``. ``faulting``: the dispatcher that knows the faults; None while there are none."""

    def __init__(
        self, info: ConnectionInfo, gate: FrameGate, faulting: Callable[[], FaultingDispatcher | None]
    ) -> None:
        self._info = info
        self._gate = gate
        self._faulting = faulting

    @property
    def max_frame_bytes(self) -> int | None:
        return self._gate.max_frame_bytes

    def expects(self, frame: bytearray) -> bool:
        return self._gate.expects(frame)

    def take(self, frame: bytearray, received_ms: int) -> GateReply | None:
        faulting = self._faulting()
        if faulting is None or not self._gate.expects(frame):
            return self._gate.take(frame, received_ms)
        try:
            key, version, correlation_id, client_id, header_size = _headers.parse(frame)
        except BadRequestHeaderError:
            return self._gate.take(frame, received_ms)  # it says what is wrong
        name = None if client_id is None else client_id.decode("utf-8", "replace")
        request = Request(key, version, correlation_id, name, header_size, frame, self._info, received_ms)
        plan = faulting.plan_of_login(request)
        if plan is None:
            return self._gate.take(frame, received_ms)
        return self._with_fault(faulting, request, plan)

    def _with_fault(self, faulting: FaultingDispatcher, request: Request, plan: Plan) -> GateReply | None:
        if plan.rest is None:
            closes = request.api_key != ApiKey.API_VERSIONS  # as after every failed login
            return GateReply(faulting.failed_login(request, plan), closes)
        if (wait := faulting.wait_of(plan)) is not None:
            return self._later(faulting, request, wait)
        reply = faulting.broken(request, plan, lambda: self._served(request, faulting))
        if reply is None or isinstance(reply, list | LaterReply):
            return GateReply(reply)
        return _in_task(reply)

    def _later(
        self, faulting: FaultingDispatcher, request: Request, wait: Callable[[], "asyncio.Future[None]"]
    ) -> GateReply:
        async def carried_out() -> list[ReplyPart] | None:
            with faulting.holding():
                await wait()
            return await settled(self._served(request, faulting)) if request.connection.is_open else None

        return _in_task(carried_out())

    def _served(self, request: Request, faulting: FaultingDispatcher) -> Reply:
        """The reply of the gate, or of the dispatcher to ApiVersions. A reply that ends the connection still does."""
        answer = self._gate.take(request.frame, request.received_ms)
        if answer is None:
            return faulting.without_faults(request)
        reply = answer.reply
        if not answer.closes or reply is None:
            return reply
        return faulting.ended_with(request, reply, _WHOLE)


def _in_task(work: Awaitable[list[ReplyPart] | None]) -> GateReply:
    task = asyncio.ensure_future(work)
    return GateReply(LaterReply(task, task.result))
