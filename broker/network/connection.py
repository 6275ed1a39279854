"""One connection: requests start in the order they came, and their responses leave in that order.

    bytes ─► FrameReader ─► Gate ─► handler ─► answered at once: to the ResponseWriter
                                           └─► later: a ParkedRequest keeps its place in the order

Back-pressure is not reading. `ReadPause` lists the reasons; frames that came by then wait in ``_frames`` and in the
reader (one read's worth at most) and start first when the last reason ends. A pause for MEMORY alone keeps no complete
frame waiting, because handling frames is what frees memory.

Everything that one read brings is started in one pass, and responses that are ready leave in one write. When a read
brings very many requests, or much work, the rest waits for the next iteration of the loop.
"""

import asyncio
import contextlib
import logging
import socket
import struct
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol, cast

from .admission.gate import KEEPS_FRAME, LARGE_BYTES
from .admission.read_pause import CLOSING, CONNECTION_LIMIT, MEMORY, QUEUED, RESPONSES, THROTTLED, ReadPause
from .frame_reader import FIRST_READ, FrameReader, FrameSizeError
from .loop_resources import LoopResources
from .parked_requests import ParkedRequest, ParkedRequests
from .protocol_sniffing import Violation, recognise
from .region_sender import RegionSender, RegionSenderFactory
from .request import CloseConnectionError, ConnectionInfo, LaterReply, ReplyPart, Request, no_connection
from .request_header import BadRequestHeaderError
from .response_writer import ResponseTooLongError, ResponseWriter
from .socket_states import leaves_many_descriptors

__all__ = ["FREE_TINY_READS", "Connection", "ConnectionOwner"]

logger = logging.getLogger(__name__)

_RESET_AT_CLOSE = struct.pack("ii", 1, 0)
_HALF_CLOSED_S = 2.0
"""When a client has half-closed and its requests are still unanswered after this time, the connection is aborted."""
_MAX_REQUESTS_PER_PASS = 32
_MAX_PASS_S = 0.00025
_WAITING_FRAME_OVERHEAD_BYTES = 96
_REMEMBERED_CLIENT_ID_BYTES = 256
"""A longer one is decoded each time, so that an idle connection costs little."""
_TINY_READ = 1024
"""A read of fewer bytes that completes no frame."""
FREE_TINY_READS = 8
"""Short reads allowed for each frame without a pause; fewer are forgiven after a connection exceeded this."""
_TINY_READ_PAUSE_S = 0.2
_MAX_TINY_READS = 16
_WAIT_FOR_OTHERS = RESPONSES | QUEUED | CLOSING
"""Pauses so long that the peer may close meanwhile, which `DisconnectPoll` finds out."""
_BEHIND_RESPONSES = RESPONSES | THROTTLED
"""Pauses in which a partial frame cannot complete. Its memory counts in `responses`, so that it does not block other
connections' reads."""


class ConnectionOwner(Protocol):
    """The listener that accepted a connection."""

    new_sender: RegionSenderFactory

    def connected(self, connection: "Connection", transport: asyncio.Transport) -> ConnectionInfo: ...

    def disconnected(self, connection: "Connection") -> None: ...


class Connection(asyncio.BufferedProtocol):
    """One connection (see the module's docstring). All methods run on the loop."""

    # for its whole life
    info: ConnectionInfo
    _transport: asyncio.Transport
    _writer: ResponseWriter

    def __init__(self, resources: LoopResources, owner: ConnectionOwner) -> None:
        self._resources = resources
        self._owner = owner
        self._reader = FrameReader(resources.read_buffer, resources.settings.max_request_bytes, resources.frame_pool)
        self._max_parked = resources.settings.max_parked_requests
        self.share = resources.gate.new_share()
        self.last_active_s = 0.0
        self.is_admitted = False
        self.is_lost = False
        self._is_aborted = False
        # requests on their way
        self._frames: deque[bytearray] = deque()  # read, not started
        self._parked = ParkedRequests()  # started, not answered
        self._received_ms = 0
        self._bad_frame: FrameSizeError | None = None
        self._requests_started = 0
        self._client_id_bytes: bytearray | None = None
        self._client_id: str | None = None
        # back-pressure
        self._pauses = 0
        self._in_work_bytes = 0  # of frames that produce handlers work with
        self._counted_bytes = 0  # of frames that wait or arrive, in the account `frames`
        self._counts_as_responses = False
        self._tiny_reads = 0
        self._throttle: asyncio.TimerHandle | None = None
        self._half_closed: asyncio.TimerHandle | None = None
        self._progress_seen = 0

    # --- called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's and a simulation's need not inherit from it
        self._transport.set_write_buffer_limits(high=0)
        self._writer = ResponseWriter(self._transport, self._new_sender, self._send_ready, self._broken)
        self.info = self._owner.connected(self, self._transport)
        self.info.throttle = self.throttle
        self._resources.idle.touch(self)

    def get_buffer(self, sizehint: int) -> bytearray | memoryview:
        resources, reader = self._resources, self._reader
        is_scarce = resources.memory.frames.is_over
        if not reader.wants_long_read:
            return reader.get_buffer(is_scarce)
        # While requests are unanswered, new bytes may have to be kept, so read less.
        return reader.get_buffer(is_scarce, is_long=not self._parked and resources.may_read_long(self))

    def buffer_updated(self, nbytes: int) -> None:
        resources = self._resources
        try:
            frames = self._reader.received(nbytes)
        except FrameSizeError as error:
            self._bad_frame = error
            frames = error.frames
        resources.idle.touch(self)
        if frames:
            self._received_ms = resources.clock_ms()
            if len(frames) == 1 and not self._pauses & ~MEMORY:  # the usual case
                self.share.used_s = 0.0
                self._start(frames[0])
            else:
                self._frames.extend(frames)
                self._start_frames()
            self._writer.flush()
            if self._tiny_reads:
                self._tiny_reads = 0 if self._tiny_reads <= FREE_TINY_READS else self._tiny_reads - 2
        elif nbytes < _TINY_READ and not resources.memory.frames.is_over:
            self._tiny_read_came()
        if self._bad_frame is not None and not self._frames:
            self._refuse_frame(self._bad_frame)
        if self._pauses or self._counted_bytes or self._reader.held_bytes:
            self._count_memory()
        elif self._in_work_bytes:
            self._watch_memory()
        if nbytes >= FIRST_READ and not self._pauses and not resources.memory.frames.is_over:
            self._yield_to_others()  # otherwise the loop would read on as long as bytes are there
        if self._pauses:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Half-closed: answer the unanswered requests for a short time, because a closed peer looks the same."""
        has_unsent = self._parked or self._writer.blocked
        if not has_unsent or self._parked.may_take_long or not leaves_many_descriptors(self._transport):
            return False
        self.finish()
        self._resources.disconnects.forget(self)  # it would only find the same
        self._half_closed = self._resources.loop.call_later(_HALF_CLOSED_S, self._end_half_closed)
        return True

    def _end_half_closed(self) -> None:
        if self._parked.are_under_way:
            self.abort()

    def pause_writing(self) -> None:
        self._writer.pause()
        self._pause(RESPONSES)
        self._count_memory()

    def resume_writing(self) -> None:
        # Not at once: we may close the transport then, and asyncio's does not expect that from within this call.
        self._resources.loop.call_soon(self._write_on)

    def _write_on(self) -> None:
        if not self.is_lost:
            self._resources.idle.touch(self)
            self._resources.memory.responses.moved(self)
            self._writer.resume()
            self._count_memory()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = self._is_aborted = True
        self._pauses |= CLOSING
        self._drop_unstarted()
        self._parked.abandon_all()
        self._writer.close()
        self.info.throttle = no_connection
        for timer in (self._throttle, self._half_closed):
            if timer is not None:
                timer.cancel()
        resources = self._resources
        resources.idle.forget(self)
        resources.memory.responses.hold(self, 0)
        resources.disconnects.forget(self)
        resources.local_socket_options.forget(self.info)
        self._owner.disconnected(self)

    # --- called by the other parts of the network layer

    @property
    def is_busy(self) -> bool:
        """Requests are under way, or a response has moved on since the last call."""
        seen_before = self._progress_seen
        self._progress_seen = self._writer.region_bytes - self._transport.get_write_buffer_size()
        return self._progress_seen != seen_before or self._parked.are_under_way

    @property
    def partial_bytes(self) -> int:
        return self._reader.filled_bytes

    @property
    def reads_without_memory(self) -> bool:
        return not self._in_work_bytes and self._reader.has_room

    @property
    def waits_for_memory_only(self) -> bool:
        return self._reader.held_bytes > 0 and not self._pauses & ~MEMORY

    @property
    def descriptor(self) -> int:
        """The socket's descriptor; negative when it is closed, or there is none."""
        connection = self._transport.get_extra_info("socket")
        return -1 if connection is None else cast("int", connection.fileno())

    def peer_has_closed(self) -> None:
        """Abort if the connection is closing or its next request would wait long, except while a produce is in work.

        So produce requests already received are still carried out, although the client has closed.
        """
        waits_long = len(self._parked) >= self._max_parked or self._resources.gate.queue.holds(self)
        if self._pauses & CLOSING or (waits_long and not self._in_work_bytes):
            self.abort()

    @property
    def is_ending(self) -> bool:
        """The connection takes no further request, and is closed or will be."""
        return bool(self._pauses & CLOSING)

    @property
    def read_pause(self) -> ReadPause:
        """Why the connection is not read now."""
        return ReadPause(self._pauses)

    def wait_for_admission(self) -> None:
        self._pause(CONNECTION_LIMIT)

    def admit(self) -> None:
        self.is_admitted = True
        self._resume(CONNECTION_LIMIT)

    def memory_is_free(self) -> None:
        self._resume(MEMORY)

    def turn_has_come(self) -> None:
        self._resources.gate.let_start(self, self._end_queueing)

    def _end_queueing(self) -> None:
        self._resume(QUEUED)

    def throttle(self, duration_s: float) -> None:
        """Read nothing for ``duration_s``; requests under way go on."""
        loop = self._resources.loop
        if self._throttle is not None:
            if self._throttle.when() >= loop.time() + duration_s:
                return
            self._throttle.cancel()
        self._pause(THROTTLED)
        self._throttle = loop.call_later(duration_s, self._end_throttle)

    def _end_throttle(self) -> None:
        self._throttle = None
        self._resume(THROTTLED)

    def close_idle(self) -> None:
        logger.debug("Closing %s: idle for %d ms", self.info, self._resources.settings.max_idle_ms)
        self.abort()

    def close_for_memory(self) -> None:
        reached = self._resources.memory.frames.reached_limit
        self._warn(Violation.SILENCE, f"it does not go on with a request while {reached} is reached")
        self.abort()

    def close_as_slow(self) -> None:
        self._warn(
            Violation.SLOW_READER,
            "it has gone longest without reading its responses, and pybroker.unsent.max.bytes is reached",
        )
        self.abort()

    def finish(self) -> None:
        """Take no further request, answer those under way, close."""
        self._pause(CLOSING)
        self._drop_unstarted()
        self._maybe_close()

    def abort(self) -> None:
        """Close now, whatever is under way."""
        self._is_aborted = True
        self._resources.memory.responses.hold(self, 0)
        self._pause(CLOSING)
        self._drop_unstarted()
        self._transport.abort()

    def reset(self) -> None:
        """``abort`` so that the peer sees a reset, even when no response is unsent."""
        raw = self._transport.get_extra_info("socket")
        if raw is not None and raw.fileno() >= 0:
            with contextlib.suppress(OSError):  # it may be gone already
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        self.abort()

    def _drop_unstarted(self) -> None:
        self._frames.clear()
        self._reader.abandon()
        self._bad_frame = None
        self._resources.gate.queue.forget(self)
        self._resources.memory.frames.forget(self)
        self._count_memory()

    # --- requests

    def _start(self, frame: bytearray) -> None:
        resources = self._resources
        try:
            api_key, api_version, correlation_id, client_id, header_size = resources.headers.parse(frame)
        except BadRequestHeaderError as error:
            self._refuse(Violation.HEADER, str(error))
            return
        if client_id == self._client_id_bytes:
            client_name = self._client_id
        else:
            client_name = self._named(client_id)
        frame_bytes = len(frame)
        if not resources.gate.admits(self, api_key, frame_bytes, has_others=bool(self._parked)):
            self._frames.appendleft(frame)
            self._pause(QUEUED)
            return
        self._requests_started += 1
        request = Request(
            api_key, api_version, correlation_id, client_name, header_size, frame, self.info, self._received_ms
        )
        try:
            reply = resources.gate.handle(self.share, request)
        except Exception as error:
            self._failed(error, api_key, api_version)
            return
        if isinstance(reply, list):
            if self._parked or self._writer.blocked:
                self._parked.add_answer(reply)
                self._watch_responses()
                self._count_memory()
            elif not self._writer.send(reply):
                self._pause(RESPONSES)
                self._count_memory()
        elif reply is not None:
            self._park(request, reply, frame_bytes)

    def _named(self, client_id: bytearray | None) -> str | None:
        name = None if client_id is None else client_id.decode("utf-8", "replace")
        if client_id is None or len(client_id) <= _REMEMBERED_CLIENT_ID_BYTES:
            self._client_id_bytes, self._client_id = client_id, name
        return name

    def _park(self, request: Request, reply: LaterReply | Awaitable[list[ReplyPart] | None], frame_bytes: int) -> None:
        resources = self._resources
        kept_bytes = frame_bytes if request.api_key in KEEPS_FRAME else 0
        if kept_bytes:
            self._in_work_bytes += kept_bytes
            resources.memory.frames.add(kept_bytes, 1)
        later = resources.gate.finish_later(self.share, request, frame_bytes, reply, partial(self._resume, QUEUED))
        if not isinstance(reply, LaterReply):
            self._pause(QUEUED)  # until the task has begun, because requests start in order
        parked = ParkedRequest(request.abandon)
        self._parked.append(parked)
        self._watch_responses()
        later.future.add_done_callback(partial(self._answered, parked, request, kept_bytes, later.settle))
        if kept_bytes > LARGE_BYTES and self._frames:
            self._yield_to_others()  # the answer, which may come at once, decides whether the next one must queue

    def _answered(
        self,
        parked: ParkedRequest,
        request: Request,
        kept_bytes: int,
        settle: Callable[[], list[ReplyPart] | None],
        done: "asyncio.Future[Any]",
    ) -> None:
        if kept_bytes:
            self._in_work_bytes -= kept_bytes
            self._resources.memory.frames.add(-kept_bytes, -1)
        error: BaseException | None = None
        if self.is_lost and not done.cancelled() and done.exception() is None:
            return  # skip encoding responses for lost connections
        try:
            parked.parts = settle()
        except (Exception, asyncio.CancelledError) as raised:
            error = raised
        if self.is_lost:
            if isinstance(error, Exception) and not isinstance(error, CloseConnectionError):
                self._failed(error, request.api_key, request.api_version)
            return
        parked.is_ready = True
        if error is not None:
            self._parked.drop_behind(parked)
            self._failed(error, request.api_key, request.api_version)
        self._resources.idle.touch(self)
        is_next = bool(self._parked) and self._parked[0] is parked
        if is_next:
            self._send_ready()
        if not is_next or self._writer.blocked:
            self._count_memory()
        elif kept_bytes:
            self._watch_memory()

    def _send_ready(self) -> None:
        """Give the writer the responses that are next in order; read on when few requests are unanswered."""
        self._parked.send_ready(self._writer)
        self._watch_responses()
        if self._counts_as_responses or self._writer.blocked:
            self._count_memory()
        if self._pauses & CLOSING:
            self._maybe_close()

    def _watch_responses(self) -> None:
        if self._writer.blocked or len(self._parked) >= self._max_parked:
            self._pause(RESPONSES)
        else:
            self._resume(RESPONSES)

    # --- reading or not

    def _pause(self, reason: int) -> None:
        before = self._pauses
        self._pauses = before | reason
        if not before:
            self._transport.pause_reading()
            if self._reader.held_bytes:
                self._resources.memory.frames.end_exemption(self)
        if reason & _WAIT_FOR_OTHERS and not self.is_lost:
            self._resources.disconnects.watch(self)
        if self._pauses != before and logger.isEnabledFor(logging.DEBUG):
            logger.debug("Reading of %s is paused; all reasons now: %r", self.info, self.read_pause)

    def _resume(self, reason: int) -> None:
        before = self._pauses
        if not before & reason:
            return
        self._pauses = before & ~reason
        if not self._pauses & _WAIT_FOR_OTHERS:
            self._resources.disconnects.forget(self)
        if logger.isEnabledFor(logging.DEBUG):
            logger.debug("Reading of %s: %r ended; reasons left: %r", self.info, ReadPause(reason), self.read_pause)
        if not self._pauses & ~MEMORY:
            self._go_on()

    def _go_on(self) -> None:
        """Start the frames that waited, then read on if no reason is left."""
        if self._start_frames():
            self._resources.memory.responses.moved(self)
        self._writer.flush()
        if self._bad_frame is not None and not self._frames:
            self._refuse_frame(self._bad_frame)
            return
        self._count_memory()
        if not self._pauses:
            self._transport.resume_reading()

    def _start_frames(self) -> bool:
        """Start waiting frames, at most `_MAX_REQUESTS_PER_PASS` and none after `_MAX_PASS_S`. Whether any started."""
        frames, share = self._frames, self.share
        left = _MAX_REQUESTS_PER_PASS
        share.used_s = 0.0
        while not self._pauses & ~MEMORY and (frames or self._take_more()):
            if not left or share.used_s > _MAX_PASS_S:
                self._yield_to_others()
                break
            left -= 1
            self._start(frames.popleft())
        return left < _MAX_REQUESTS_PER_PASS

    def _take_more(self) -> bool:
        """Take the next frames of the last read. Whether there are any."""
        if not self._reader.has_more:
            return False
        try:
            frames = self._reader.more()
        except FrameSizeError as error:
            self._bad_frame = error
            frames = error.frames
        self._frames.extend(frames)
        return bool(frames)

    def _yield_to_others(self) -> None:
        """Go on in the next iteration of the loop."""
        if not self._pauses & QUEUED:
            self._pause(QUEUED)
            self._resources.loop.call_soon(self._resume, QUEUED)

    def _tiny_read_came(self) -> None:
        """A tiny read costs the loop as much as a whole request. After some, reading pauses so that bytes gather."""
        self._tiny_reads = min(self._tiny_reads + 1, _MAX_TINY_READS)
        if self._tiny_reads > FREE_TINY_READS:
            self.throttle(_TINY_READ_PAUSE_S)

    def _count_memory(self) -> None:
        """Count unsent responses and everything queued behind them in account `responses`, and frames that arrive or
        wait for other reasons in `frames`."""
        memory, reader, frames = self._resources.memory, self._reader, self._frames
        held_bytes = reader.held_bytes + reader.rest_bytes
        if frames:
            held_bytes += sum(map(len, frames)) + len(frames) * _WAITING_FRAME_OVERHEAD_BYTES
        response_bytes = 0
        if self._parked or self._writer.blocked or self._counts_as_responses:
            response_bytes = self._transport.get_write_buffer_size()
            response_bytes += self._writer.unsent_bytes + self._parked.unsent_bytes
        if self._pauses & _BEHIND_RESPONSES:
            response_bytes += held_bytes
            held_bytes = 0
        if held_bytes != self._counted_bytes:
            memory.frames.add(held_bytes - self._counted_bytes)
            self._counted_bytes = held_bytes
        if not self._is_aborted and (response_bytes or self._counts_as_responses):
            self._counts_as_responses = response_bytes > 0
            memory.responses.hold(self, response_bytes)
        self._watch_memory()

    def _watch_memory(self) -> None:
        frames = self._resources.memory.frames
        if not (self._counted_bytes or self._in_work_bytes):
            if self._pauses & MEMORY or frames.exempt is self:
                frames.forget(self)
                self._resume(MEMORY)
        elif self._pauses & MEMORY:
            frames.offer_exemption()
        elif frames.is_over and not self._pauses and not frames.may_read(self):
            self._pause(MEMORY)

    # --- endings

    def _refuse_frame(self, error: FrameSizeError) -> None:
        self._bad_frame = None
        if self._requests_started == 0 and (other := recognise(error.start)) is not None:
            if other.answer:
                self._writer.write_raw(other.answer)
            self._refuse(other.violation, other.description)
            return
        limit = self._resources.settings.max_request_bytes
        allowed = f"socket.request.max.bytes allows 1 to {limit}"
        self._refuse(Violation.FRAME_SIZE, f"a request of {error.size} bytes; {allowed}")

    def _refuse(self, violation: Violation, reason: str) -> None:
        self._warn(violation, reason)
        self.finish()

    def _warn(self, violation: Violation, reason: str) -> None:
        self._resources.offenders.warn(
            self.info.peer_host, violation, f"Closing the connection of {self.info}: {reason}"
        )

    def _failed(self, error: BaseException, api_key: int, api_version: int) -> None:
        """A handler raised: to close the connection (`CloseConnectionError`), or because of a fault in it."""
        if isinstance(error, CloseConnectionError):
            self._refuse(error.violation, str(error))
            return
        if not isinstance(error, asyncio.CancelledError):
            logger.error(
                "Closing the connection of %s, client id %s: the handler of API %d version %d failed",
                self.info,
                self._client_id,
                api_key,
                api_version,
                exc_info=error,
            )
        self.finish()

    def _broken(self, error: OSError) -> None:
        """A response cannot be finished, so no other can follow it."""
        if isinstance(error, ResponseTooLongError):
            self._warn(Violation.LONG_RESPONSE, str(error))
        elif not isinstance(error, ConnectionError):
            logger.warning("Closing the connection of %s in the middle of a response: %s", self.info, error)
        self.abort()

    def _maybe_close(self) -> None:
        if not self._parked and not self._writer.blocked:
            self._writer.flush()
            self._transport.close()

    def _new_sender(self) -> RegionSender:
        resources = self._resources
        resources.local_socket_options.will_be_sent_records(self._transport, self.info)
        return self._owner.new_sender(
            self._transport, resources.loop, resources.run_in_worker, self._writer.transport_is_full
        )
