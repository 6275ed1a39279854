"""The requests of one connection, from start to response. Responses leave in the order in which the requests came.

frame ─► (FrameGate) ─► Gate ─► handler ─► answered at once: to the ResponseWriter
                                      └─► later: a ParkedRequest keeps its place in the order
"""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol, cast

from .admission.gate import KEEPS_FRAME
from .admission.memory import ConnectionMemory
from .admission.read_pause import LOGIN, QUEUED, RESPONSES, ReadSwitch
from .cutting_writer import CuttingWriter
from .frame_gate import FrameGate, GateReply
from .loop_resources import LoopResources
from .managed_connection import ManagedConnection
from .offender_log import Violation
from .request import CloseConnectionError, ConnectionInfo, LaterReply, Reply, ReplyPart, Request, memory_of
from .request_header import BadRequestHeaderError
from .request_timer import NOT_PROMPT, FinishedRequest, RequestTimer
from .response_writer import ResponseWriter

__all__ = ["PipelineOwner", "RequestPipeline"]

logger = logging.getLogger(__name__)

_SHOWN_CHARACTERS = 200
_NO_FRAME = bytearray()
_REMEMBERED_CLIENT_ID_BYTES = 256
"""A longer one is decoded each time, so that an idle connection costs little."""


class PipelineOwner(ManagedConnection, Protocol):
    """The connection whose requests these are."""

    info: ConnectionInfo

    def put_back(self, frame: bytearray) -> None:
        """Keep the frame, because its request may not start yet; ``start_queued`` is called when it may."""

    def responses_sent(self) -> None:
        """All responses that are ready and next in order were given to the writer."""

    def count_memory(self) -> None:
        """The memory of responses has changed."""

    def watch_memory(self) -> None:
        """The memory of frames that handlers work with has changed."""

    def refuse(self, violation: Violation, reason: str) -> None:
        """Warn about the client, then ``finish``."""

    def finish(self) -> None:
        """Take no further request, answer those under way, close."""

    def frame_limit_changed(self) -> None:
        """The gate of the connection may allow longer or shorter frames."""


class ParkedRequest:
    """A started request whose response is not known, or not written, yet. ``request``: its times are taken."""

    __slots__ = ("abandon", "is_ready", "parts", "request")

    def __init__(
        self,
        abandon: Callable[[], None] | None,
        parts: list[ReplyPart] | None = None,
        request: Request | None = None,
    ) -> None:
        self.abandon = abandon
        self.parts = parts
        self.is_ready = parts is not None
        self.request = request


class RequestPipeline:
    """Starts requests and sends their responses. It pauses reading when no further request may start."""

    __slots__ = (
        "_client_id_bytes", "_connection", "_gate", "_headers", "_idle", "_is_lost", "_max_parked", "_memory",
        "_parked", "_passed", "_reading", "_timer", "_unsent", "_writer", "client_id", "frame_gate", "received_bytes",
        "received_ms", "received_s", "started_count",
    )  # fmt: skip

    def __init__(
        self,
        resources: LoopResources,
        connection: PipelineOwner,
        reading: ReadSwitch,
        memory: ConnectionMemory,
        writer: ResponseWriter,
    ) -> None:
        self._gate = resources.gate
        self._timer = resources.timer
        self._unsent: list[FinishedRequest] = []  # of whose responses the writer may not have sent all
        self._headers = resources.headers
        self._idle = resources.idle
        self._max_parked = resources.settings.max_parked_requests
        self._connection = connection
        self._reading = reading
        self._memory = memory
        self._writer = writer
        self._parked: deque[ParkedRequest] = deque()
        self._is_lost = False
        self._client_id_bytes: bytearray | None = None
        self.client_id: str | None = None
        """The client's name in its last request, if it is short."""
        self.received_ms = 0
        """Wall clock of the last read, for the requests that it brought."""
        self.received_s = 0.0
        """When the last read came, if its requests may have to wait; 0: they start now."""
        self.started_count = 0
        self.received_bytes = 0
        self._passed: bytearray | None = None  # the frame that was put back
        self.frame_gate: FrameGate | None = None
        """Set before the first frame, if the client must log in."""

    # --- requests under way

    @property
    def is_empty(self) -> bool:
        """Every started request has its response in the writer."""
        return not self._parked

    @property
    def is_full(self) -> bool:
        """The limit of unanswered requests is reached."""
        return len(self._parked) >= self._max_parked

    @property
    def is_under_way(self) -> bool:
        """The response of at least one request is not known."""
        return any(not parked.is_ready for parked in self._parked)

    @property
    def may_take_long(self) -> bool:
        """At least one request waits for other clients (records, group members) and can be abandoned."""
        return any(parked.abandon is not None and not parked.is_ready for parked in self._parked)

    @property
    def ready_count(self) -> int:
        """Responses that are not in the writer yet."""
        return sum(parked.is_ready for parked in self._parked)

    @property
    def unsent_bytes(self) -> int:
        """Memory of responses that wait for earlier ones. Regions of files count as their objects."""
        return sum(memory_of(parked.parts) for parked in self._parked if parked.parts)

    # --- from start to response

    def start(self, frame: bytearray) -> None:
        """Start a request, or ``put_back`` its frame when the gate does not admit it yet."""
        if self.frame_gate is not None and not self._passes(self.frame_gate, frame):
            return
        try:
            api_key, api_version, correlation_id, client_id, header_size = self._headers.parse(frame)
        except BadRequestHeaderError as error:
            self._connection.refuse(Violation.HEADER, str(error))
            return
        client_name = self.client_id if client_id == self._client_id_bytes else self._decode_client_id(client_id)
        frame_bytes = len(frame)
        connection, parked = self._connection, self._parked
        if not self._gate.admits(connection, api_key, frame_bytes, has_others=bool(parked)):
            self._passed = frame
            if self._timer is not None and not self.received_s:
                self.received_s = self._timer.now_s()
            connection.put_back(frame)
            return
        self._passed = None
        self.started_count += 1
        self.received_bytes += frame_bytes
        request = Request(
            api_key, api_version, correlation_id, client_name, header_size, frame, connection.info, self.received_ms
        )
        timer = self._timer
        started_s = handled_s = 0.0
        try:
            if timer is None:
                reply = self._gate.handle(connection.share, request)
            else:
                started_s = timer.now_s()
                reply = self._gate.handle(connection.share, request)
                handled_s = timer.now_s()
        except Exception as error:
            self._failed(error, request)
            return
        if isinstance(reply, list) and not parked and not self._writer.blocked:
            takes_more = self._writer.send(reply)
            if timer is not None:
                received_s = self.received_s or started_s
                self._unsent.append((request, received_s, started_s, handled_s, frame_bytes, self._writer.last_bytes))
            if not takes_more:
                self._watch_responses()
                connection.count_memory()
            return
        if timer is not None:
            request.take_times(self.received_s or started_s, started_s, handled_s, frame_bytes)
        self._reply_later(request, frame_bytes, reply)

    def _reply_later(self, request: Request, frame_bytes: int, reply: Reply) -> None:
        """The end of `start` for a request without a response, or with one that is not known or must wait."""
        timer = self._timer
        if reply is not None and not isinstance(reply, list):
            self._park(request, frame_bytes, reply)
            return
        if timer is not None:
            self._answered_at(request, request.handled_s)
        if reply is not None:
            self._parked.append(ParkedRequest(None, reply, None if timer is None else request))
            self._watch_responses()
            self._connection.count_memory()
        elif timer is not None:
            timer.finished((_late(request),), request.handled_s)

    def _passes(self, frame_gate: FrameGate, frame: bytearray) -> bool:
        """Whether the frame is a request that may start; the gate has answered it otherwise. It sees a frame that was
        put back only once."""
        if frame is self._passed:
            return True
        connection = self._connection
        try:
            answer = frame_gate.take(frame, self.received_ms)
        except CloseConnectionError as error:
            connection.refuse(error.violation, str(error))
            return False
        except Exception as error:
            self._gate_failed(error)
            return False
        if answer is None:
            return True
        self.started_count += 1
        connection.frame_limit_changed()
        self._answer_for_gate(answer)
        if answer.closes:
            connection.finish()
        return False

    def _answer_for_gate(self, answer: GateReply) -> None:
        reply = answer.reply
        if isinstance(reply, LaterReply):
            self._reading.pause(LOGIN)
            parked = ParkedRequest(None)
            self._parked.append(parked)
            reply.future.add_done_callback(partial(self._gate_decided, parked, reply.settle))
        elif reply is not None:
            self._parked.append(ParkedRequest(None, reply))
            self.send_ready()

    def _gate_decided(
        self, parked: ParkedRequest, settle: Callable[[], list[ReplyPart] | None], _done: "asyncio.Future[Any]"
    ) -> None:
        if self._is_lost:
            return
        connection = self._connection
        try:
            parked.parts = settle()
        except CloseConnectionError as error:
            connection.refuse(error.violation, str(error))
        except (Exception, asyncio.CancelledError) as error:
            self._gate_failed(error)
        parked.is_ready = True
        connection.frame_limit_changed()
        if self._parked[0] is parked:
            self.send_ready()
        self._reading.resume(LOGIN)

    def _gate_failed(self, error: BaseException) -> None:
        """A fault in the gate. A client may cause it as often as it likes, so the warning is short."""
        logger.debug("The login of %s failed", self._connection.info, exc_info=error)
        self._connection.refuse(Violation.LOGIN, f"its login failed because of {error!r:.{_SHOWN_CHARACTERS}}")

    def _decode_client_id(self, client_id: bytearray | None) -> str | None:
        name = None if client_id is None else client_id.decode("utf-8", "replace")
        if client_id is None or len(client_id) <= _REMEMBERED_CLIENT_ID_BYTES:
            self._client_id_bytes, self.client_id = client_id, name
        return name

    def _park(self, request: Request, frame_bytes: int, reply: LaterReply | Awaitable[list[ReplyPart] | None]) -> None:
        connection = self._connection
        kept_bytes = frame_bytes if request.api_key in KEEPS_FRAME else 0
        if kept_bytes:
            self._memory.start_work(kept_bytes)
        begun = partial(self._reading.resume, QUEUED)
        later = self._gate.finish_later(connection.share, request, frame_bytes, reply, begun)
        if not isinstance(reply, LaterReply):
            self._reading.pause(QUEUED)  # until the task has begun, because requests start in order
        parked = ParkedRequest(request.abandon, None, None if self._timer is None else request)
        request.abandon = None  # what it abandons may refer to the request, and such a cycle would be freed late
        self._parked.append(parked)
        self._watch_responses()
        later.future.add_done_callback(partial(self._answered, parked, request, kept_bytes, later.settle))

    def _answered(
        self,
        parked: ParkedRequest,
        request: Request,
        kept_bytes: int,
        settle: Callable[[], list[ReplyPart] | None],
        done: "asyncio.Future[Any]",
    ) -> None:
        if kept_bytes:
            self._memory.end_work(kept_bytes)
        if self._is_lost and not done.cancelled() and done.exception() is None:
            return  # skip encoding responses for lost connections
        error: BaseException | None = None
        try:
            parked.parts = settle()
        except (Exception, asyncio.CancelledError) as raised:
            error = raised
        if self._is_lost:
            if isinstance(error, Exception) and not isinstance(error, CloseConnectionError):
                _log_failure(error, request)
            return
        parked.is_ready = True
        if self._timer is not None:
            self._answered_at(request, self._timer.now_s())
        if error is not None:
            parked.request = None
            while self._parked and self._parked[-1] is not parked:
                _abandon(self._parked.pop())  # no response can follow
            self._failed(error, request)
        self._idle.touch(self._connection)
        is_next = bool(self._parked) and self._parked[0] is parked
        if is_next:
            self.send_ready()
        if not is_next or self._writer.blocked:
            self._connection.count_memory()
        elif kept_bytes:
            self._connection.watch_memory()

    def send_ready(self) -> None:
        """Give the writer the responses that are next in order; start further requests when few are unanswered."""
        parked, writer = self._parked, self._writer
        while parked and parked[0].is_ready and not writer.blocked:
            first = parked.popleft()
            if self._timer is not None and first.request is not None:
                self._send_timed(self._timer, first.request, first.parts)
            elif first.parts is not None:
                writer.send(first.parts)
        self.flush()
        self._watch_responses()
        self._connection.responses_sent()

    def _send_timed(self, timer: RequestTimer, request: Request, parts: list[ReplyPart] | None) -> None:
        if parts is None:
            timer.finished((_late(request),), request.answered_s)
            return
        request.sending_s = max(timer.now_s(), request.answered_s)
        self._writer.send(parts)
        request.response_bytes = self._writer.last_bytes
        self._unsent.append(_late(request))

    def cut(self, parts: list[ReplyPart], after_bytes: int, end: Callable[[], None]) -> None:
        """When the response ``parts`` is next: send so many bytes of its frame, then call ``end``."""
        writer: Any = self._writer
        if not isinstance(writer, CuttingWriter):
            self._writer = writer = cast("Any", CuttingWriter(self._writer))
        writer.cut(parts, after_bytes, end)

    def flush(self) -> None:
        """Write the responses that the writer has gathered, and report which requests are finished."""
        writer = self._writer
        writer.flush()
        unsent = self._unsent
        if not unsent or self._timer is None:
            return
        if writer.blocked:
            for request, *_ in unsent:
                request.frame = _NO_FRAME  # the response may stay in memory for long, the request need not
            return
        self._timer.finished(unsent, self._timer.now_s())
        unsent.clear()

    def _answered_at(self, request: Request, now_s: float) -> None:
        """The response is known. The frame is freed, because the response may wait."""
        request.answered_s = request.sending_s = now_s
        request.frame = _NO_FRAME
        request.response_bytes = 0

    def _watch_responses(self) -> None:
        if self._writer.blocked or self.is_full:
            self._reading.pause(RESPONSES)
        else:
            self._reading.resume(RESPONSES)

    # --- endings

    def close(self) -> None:
        """The connection is lost: abandon requests under way, and drop the reference to it, so that it is freed without
        a garbage collection."""
        self._is_lost = True
        self._passed = None
        while self._parked:
            _abandon(self._parked.pop())
        self._unsent.clear()
        del self._connection

    def _failed(self, error: BaseException, request: Request) -> None:
        """A handler raised: to close the connection (`CloseConnectionError`), or because of a fault in it."""
        if isinstance(error, CloseConnectionError):
            self._connection.refuse(error.violation, str(error))
            return
        if not isinstance(error, asyncio.CancelledError):
            _log_failure(error, request)
        self._connection.finish()


def _late(request: Request) -> FinishedRequest:
    """An entry for the timer, of a request that has its times in its attributes."""
    return request, NOT_PROMPT, 0.0, 0.0, 0, 0


def _abandon(parked: ParkedRequest) -> None:
    if parked.abandon is not None and not parked.is_ready:
        parked.abandon()


def _log_failure(error: BaseException, request: Request) -> None:
    logger.error(
        "Closing the connection of %s, client id %s: the handler of API %d version %d failed",
        request.connection,
        request.client_id,
        request.api_key,
        request.api_version,
        exc_info=error,
    )
