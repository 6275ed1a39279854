"""One connection: requests start in the order they came, answers leave in that order.

    bytes ─► FrameReader ─► handler ─► answered at once: straight to the ResponseWriter
                                   └─► later: a ParkedRequest holds its place in the order

Back-pressure is not reading. Reading is held for any of the reasons in ``Hold``; frames that had come by then wait in
``_frames`` and in the reader (no more than one read's worth), and when the last reason is gone they go first. Want of
memory alone keeps none of them waiting: it is their being handled that makes room.

One read is one pass: the requests in it are started, the answers that are ready leave in one write. A read may bring
thousands of small requests; then so many are started in each turn of the loop, and the other connections come between.
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

from .connection_memory import ConnectionMemory
from .connection_work import ConnectionWork
from .decoded_requests import NOT_COUNTED, DecodedRequests
from .frame_reader import FIRST_READ, FrameReader, FrameSizeError
from .heavy_requests import HEAVY_BYTES, OUTSIDE_TURNS
from .holds import (
    ADMISSION,
    CLOSING,
    DECODED,
    FRAMES_WAIT,
    HEAVY,
    MEMORY,
    PARKED,
    STARTING,
    THROTTLED,
    TRICKLE,
    TURN,
    UNREAD_FOR_LONG,
    WRITING,
    Hold,
)
from .loop_resources import LoopResources
from .parked_requests import ParkedRequest, ParkedRequests
from .protocol_sniffing import Offence, recognise
from .region_sender import RegionSender, RegionSenderFactory
from .request import CloseConnectionError, ConnectionInfo, LaterReply, ReplyPart, Request, no_connection
from .request_header import BadRequestHeaderError
from .response_writer import AnswerTooLongError, ResponseWriter
from .socket_states import leaves_many_descriptors, unread_bytes
from .trickles import SMALL_PIECE, Trickle

__all__ = ["Connection", "ConnectionOwner"]

logger = logging.getLogger(__name__)

_RESET_AT_CLOSE = struct.pack("ii", 1, 0)
_PRODUCE = 0
"""The one API whose handler works with the frame (the records in it) after its first step: it counts as memory. What
other requests keep while they are parked, `DecodedRequests` counts, or their handlers."""
_LAST_ANSWERS_S = 2.0
"""So long a request may take whose peer has ended its half of the stream."""
_MOST_IN_A_TURN = 32
"""Requests that are started before others have their turn."""
_LONGEST_TURN_S = 0.00025
"""Or after so much work: then it is one, as a rule, for each connection that asks for more than a trifle."""
_OF_A_WAITING_FRAME = 96
"""What a frame takes besides its bytes; one of a single byte is a frame, too."""
_REMEMBERED_CLIENT_ID_BYTES = 256
"""A longer one is decoded each time it comes: an idle connection is to cost little."""


class ConnectionOwner(Protocol):
    """The listener that accepted a connection."""

    new_sender: RegionSenderFactory

    def connected(self, connection: "Connection", transport: asyncio.Transport) -> ConnectionInfo: ...

    def disconnected(self, connection: "Connection") -> None: ...


class Connection(asyncio.BufferedProtocol):
    """See the head of this file. All of it runs on the loop."""

    # for its whole life
    info: ConnectionInfo
    _transport: asyncio.Transport
    _writer: ResponseWriter

    def __init__(self, resources: LoopResources, owner: ConnectionOwner) -> None:
        self._resources = resources
        self._owner = owner
        self._reader = FrameReader(resources.read_buffer, resources.settings.max_request_bytes, resources.frame_pool)
        self._max_parked = resources.settings.max_parked_requests
        self.last_active_s = 0.0
        self.is_admitted = False
        # requests on their way
        self._frames: deque[bytearray] = deque()  # read, not started
        self._parked = ParkedRequests()  # started, not answered
        self._received_ms = 0
        self._last_read_bytes = 0  # what waits in _frames and in the reader is no more
        self._stranger: FrameSizeError | None = None
        self._requests_started = 0
        self._turn_s = 0.0  # work in this turn of the loop
        self._work = ConnectionWork(resources.heavy, resources.produce_in_vain, resources.stopwatch_s)
        self._client_id_bytes: bytearray | None = None
        self._client_id: str | None = None
        # back-pressure
        self._held = 0
        self._memory = ConnectionMemory(resources.memory)
        self._trickle: Trickle | None = None
        self._throttle: asyncio.TimerHandle | None = None
        self._last_answers: asyncio.TimerHandle | None = None
        self._progress_seen = 0
        self._is_counted = False  # in the account of answers that are not sent
        self._lost = False

    # --- what the loop calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's and a simulation's need not inherit from it
        self._transport.set_write_buffer_limits(high=0)
        self._writer = ResponseWriter(self._transport, self._new_sender, self._send_ready, self._broken)
        self.info = self._owner.connected(self, self._transport)
        self.info.throttle = self.throttle
        self._resources.idle.touch(self)

    def get_buffer(self, sizehint: int) -> bytearray | memoryview:
        resources, reader = self._resources, self._reader
        if not reader.wants_long_read:
            return reader.get_buffer(resources.memory.is_over)
        # Behind requests that are not answered what comes may have to wait.
        is_long = not self._parked and resources.may_read_long(self)
        return reader.get_buffer(resources.memory.is_over, is_long=is_long)

    def buffer_updated(self, nbytes: int) -> None:
        resources = self._resources
        self._last_read_bytes = nbytes
        try:
            frames = self._reader.received(nbytes)
        except FrameSizeError as error:
            self._stranger = error
            frames = error.frames
        resources.idle.touch(self)
        memory = self._memory
        if self._reader.held_bytes != memory.half_frame_bytes:
            memory.count_half_frame(self._reader.held_bytes)
        if frames:
            self._received_ms = resources.clock_ms()
            if len(frames) == 1 and not self._held & ~MEMORY:  # then it is all that there is
                self._start(frames[0])
            else:
                self._frames.extend(frames)
                self._start_waiting()
            self._writer.flush()
            if self._trickle is not None and self._trickle.frame_came():
                self._trickle = None
        elif nbytes < SMALL_PIECE and not resources.memory.is_over:  # else whose turn it is must hurry
            self._small_piece_came()
        if self._stranger is not None:
            self._refuse_frame(self._stranger)
        if memory.bytes:
            self._watch_memory()
        elif resources.memory.turn is self:
            resources.memory.end_turn(self)
        if nbytes >= FIRST_READ and not self._held and not resources.memory.is_over:  # else whose turn it is must hurry
            self._let_others_go_first()  # the loop would read on here, as long as more has come
        if self._held:
            self._transport.pause_reading()
            if self._held & CLOSING:
                self._drop_what_came()  # behind what ended it
            elif self._frames or self._reader.has_more or self._held & FRAMES_WAIT:
                self._count_unsent()

    def eof_received(self) -> bool:
        """The peer sends nothing more. It may still read, so it is answered what it has asked for; it may as well be
        gone, which looks the same, so that it is not waited for."""
        is_owed = self._parked or self._writer.blocked
        if not is_owed or self._parked.may_take_long or not leaves_many_descriptors(self._transport):
            return False
        self.finish()
        self._resources.disconnects.forget(self)  # what it would find is known
        self._last_answers = self._resources.loop.call_later(_LAST_ANSWERS_S, self._end_last_answers)
        return True

    def _end_last_answers(self) -> None:
        if self._parked.are_under_way:
            self.abort()

    def pause_writing(self) -> None:
        self._writer.pause()
        self._hold(WRITING)
        self._count_unsent()

    def resume_writing(self) -> None:
        # Not at once: we may close the transport then, and asyncio's does not expect that from within this call.
        self._resources.loop.call_soon(self._write_on)

    def connection_lost(self, exc: Exception | None) -> None:
        self._lost = True
        self._held |= CLOSING
        self._drop_what_came()
        self._parked.abandon_all()
        self._writer.close()
        self.info.throttle = no_connection
        for timer in (self._throttle, self._last_answers):
            if timer is not None:
                timer.cancel()
        resources = self._resources
        resources.idle.forget(self)
        resources.unsent.forget(self)
        resources.disconnects.forget(self)
        resources.trickles.forget(self)
        resources.local_peers.forget(self.info)
        self._owner.disconnected(self)

    def _write_on(self) -> None:
        if not self._lost:
            self._resources.idle.touch(self)
            self._resources.unsent.forget(self)
            self._writer.resume()
            if self._is_counted:
                self._count_unsent()  # as one that has just read

    # --- what the rooms around it call

    @property
    def is_busy(self) -> bool:
        """Requests are under way, or an answer has moved on since this was asked last."""
        seen_before = self._progress_seen
        self._progress_seen = self._writer.region_bytes - self._transport.get_write_buffer_size()
        return self._progress_seen != seen_before or self._parked.are_under_way

    @property
    def frame_bytes(self) -> int:
        return self._reader.filled_bytes

    @property
    def half_frame_bytes(self) -> int:
        return self._memory.half_frame_bytes

    @property
    def missing_bytes(self) -> int:
        return self._reader.missing_bytes

    @property
    def could_finish_frame(self) -> bool:
        return self._reader.held_bytes > 0 and not self._held & ~MEMORY

    @property
    def descriptor(self) -> int:
        """Of its socket; negative when it is closed, or there is none."""
        connection = self._transport.get_extra_info("socket")
        return -1 if connection is None else cast("int", connection.fileno())

    def peer_has_hung_up(self) -> None:
        """Nobody will read an answer. But what was sent to be stored is stored, and so may be what stands behind it, or
        what has come whole and waits for memory only."""
        if self._held & CLOSING or not (self._memory.in_work_bytes or self._has_come_whole):
            self.abort()

    @property
    def _has_come_whole(self) -> bool:
        return self._held == MEMORY and 0 < self.missing_bytes <= unread_bytes(self.descriptor)

    @property
    def is_lost(self) -> bool:
        return self._lost

    @property
    def is_ending(self) -> bool:
        """It will be closed, if it is not."""
        return bool(self._held & CLOSING)

    @property
    def held(self) -> Hold:
        """Why it is not read just now."""
        return Hold(self._held)

    def hold_for_admission(self) -> None:
        self._hold(ADMISSION)

    def admit(self) -> None:
        self.is_admitted = True
        self._let_go(ADMISSION)

    def memory_is_free(self) -> None:
        self._let_go(MEMORY)

    def heavy_turn_has_come(self) -> None:
        self._let_go(HEAVY)

    def decoded_turn_has_come(self) -> None:
        self._let_go(DECODED)

    def _hold_frame(self, frame: bytearray, reason: int) -> None:
        """It goes on to count until it is started: when its turn has come, something else may hold it up."""
        self._frames.appendleft(frame)
        self._memory.count_waiting(len(frame))
        self._hold(reason)

    def _drop_what_came(self) -> None:
        """Nothing of it will be started."""
        self._frames.clear()
        self._reader.abandon()
        self._memory.count_half_frame(0)
        self._memory.forget_waiting()
        self._work.forget(self)
        self._resources.decoded.forget(self)
        self._resources.memory.forget(self)

    def trickle_has_gathered(self) -> None:
        self._let_go(TRICKLE)

    def _small_piece_came(self) -> None:
        if self._trickle is None:
            self._trickle = Trickle()
        pause_s = self._trickle.piece_came()
        if pause_s:
            self._hold(TRICKLE)
            self._resources.trickles.pause(self, pause_s)

    def throttle(self, duration_s: float) -> None:
        """Read nothing more for so long; what is under way goes on."""
        loop = self._resources.loop
        if self._throttle is not None:
            if self._throttle.when() >= loop.time() + duration_s:
                return
            self._throttle.cancel()
        self._hold(THROTTLED)
        self._throttle = loop.call_later(duration_s, self._end_throttle)

    def _end_throttle(self) -> None:
        self._throttle = None
        self._let_go(THROTTLED)

    def close_idle(self) -> None:
        logger.debug("Closing %s: idle for %d ms", self.info, self._resources.settings.max_idle_ms)
        self.abort()

    def close_for_memory(self) -> None:
        self._warn(Offence.SILENCE, "it does not go on with a request while queued.max.request.bytes is reached")
        self.abort()

    def close_as_slow(self) -> None:
        self._warn(
            Offence.SLOW_READER,
            "its answers, or requests behind them, wait for longest while pybroker.unsent.max.bytes is reached",
        )
        self.abort()

    def finish(self) -> None:
        """Take no further request, answer those under way, close."""
        self._drop_what_came()
        self._hold(CLOSING)
        if self._is_counted:
            self._count_unsent()
        self._maybe_close()

    def abort(self) -> None:
        """Close now, whatever is under way."""
        self._drop_what_came()
        self._hold(CLOSING)
        self._transport.abort()

    def reset(self) -> None:
        """``abort`` so that the peer sees a reset, even when it is owed nothing."""
        raw = self._transport.get_extra_info("socket")
        if raw is not None and raw.fileno() >= 0:
            with contextlib.suppress(OSError):  # it may be gone already
                raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_CLOSE)
        self.abort()

    # --- requests

    def _start(self, frame: bytearray) -> None:
        resources = self._resources
        try:
            api_key, api_version, correlation_id, client_id, header_size = resources.headers.parse(frame)
        except BadRequestHeaderError as error:
            self._refuse(Offence.HEADER, str(error))
            return
        if client_id == self._client_id_bytes:
            client_name = self._client_id
        else:
            client_name = self._named(client_id)
        is_produce = api_key == _PRODUCE
        work = self._work
        is_heavy = work.is_heavy(api_key, len(frame))
        if not work.may_start(self, api_key, is_heavy):
            self._hold_frame(frame, HEAVY)
            return
        decoded = None if is_produce else resources.decoded.used(api_key, len(frame))
        if decoded is not None and not decoded.may_start(self, len(frame), has_others=bool(self._parked)):
            work.keep_turn(api_key, is_heavy)
            self._hold_frame(frame, DECODED)
            return
        work.starts()
        if self._memory.waiting_bytes:
            self._memory.forget_waiting()
        self._requests_started += 1
        request = Request(
            api_key, api_version, correlation_id, client_name, header_size, frame, self.info, self._received_ms
        )
        started_s = 0.0 if is_produce else resources.work_time_s()
        try:
            reply = resources.handler(request)
        except Exception as error:
            if not is_produce:
                resources.heavy.took(resources.work_time_s() - started_s)
            self._failed(error, request.api_key, request.api_version)
            return
        if not is_produce:
            took_s = resources.work_time_s() - started_s
            self._turn_s += took_s
            work.request_took(api_key, took_s)
        if isinstance(reply, list):
            if is_produce and len(frame) > HEAVY_BYTES:
                self._note_produced(request, len(frame), reply)
            if self._parked or self._writer.blocked:
                self._parked.add_answer(reply)
                self._watch_parked()
                self._count_unsent()
            else:
                if not self._writer.send(reply):
                    self._hold(WRITING)
                    self._count_unsent()
        elif reply is not None:
            self._park(request, reply, len(frame), is_heavy)

    def _named(self, client_id: bytearray | None) -> str | None:
        name = None if client_id is None else client_id.decode("utf-8", "replace")
        if client_id is None or len(client_id) <= _REMEMBERED_CLIENT_ID_BYTES:
            self._client_id_bytes, self._client_id = client_id, name
        return name

    def _park(
        self,
        request: Request,
        reply: LaterReply | Awaitable[list[ReplyPart] | None],
        frame_bytes: int,
        is_heavy: bool,
    ) -> None:
        kept_bytes = 0
        if request.api_key == _PRODUCE:
            kept_bytes = frame_bytes
            self._memory.change(kept_bytes, 1)
        decoded: DecodedRequests | None = None
        if request.api_key not in NOT_COUNTED:
            decoded = self._resources.decoded.of(request.api_key, frame_bytes)
        future: asyncio.Future[Any]
        if isinstance(reply, LaterReply):
            future, settle = reply.future, reply.settle
        else:
            is_timed = request.api_key not in OUTSIDE_TURNS  # an order to lead must not wait for the one before it
            begun = partial(self._let_go, STARTING)
            future = self._resources.new_task(reply, begun, partial(self._note_step, decoded) if is_timed else None)
            settle = future.result
            if is_heavy and is_timed:
                ended = self._resources.heavy.work_goes_on()
                future.add_done_callback(lambda _done: ended())
            self._hold(STARTING)  # until the task has begun: requests do so in their order
        if decoded is not None:
            decoded.take(frame_bytes)
            future.add_done_callback(lambda _done: decoded.give_back(frame_bytes))
        parked = ParkedRequest(request.abandon)
        self._parked.append(parked)
        self._watch_parked()
        future.add_done_callback(partial(self._answered, parked, request, kept_bytes, settle))
        if kept_bytes > HEAVY_BYTES and self._frames:
            self._let_others_go_first()  # what it took is known when it is answered, which may be now

    def _note_step(self, decoded: DecodedRequests | None, step_s: float, took_s: float) -> None:
        """Of a request that goes on."""
        if decoded is not None:
            decoded.moved()
        self._work.step_took(step_s, took_s)

    def _note_produced(self, request: Request, frame_bytes: int, answer: list[ReplyPart]) -> None:
        """A large produce request was answered."""
        body = cast("bytes", answer[-1])
        self._work.produced(frame_bytes, len(body), is_refused=request.records_were_refused)

    def _watch_parked(self) -> None:
        if len(self._parked) >= self._max_parked:
            self._hold(PARKED)

    def _answered(
        self,
        parked: ParkedRequest,
        request: Request,
        kept_bytes: int,
        settle: Callable[[], list[ReplyPart] | None],
        done: "asyncio.Future[Any]",
    ) -> None:
        if kept_bytes:
            self._memory.change(-kept_bytes, -1)
        error: BaseException | None = None
        if self._lost and not done.cancelled() and done.exception() is None:
            return  # nobody is there to read it: ten thousand members that vanished are not told of their group
        try:
            parts = parked.parts = settle()
            if kept_bytes > HEAVY_BYTES and parts:
                self._note_produced(request, kept_bytes, parts)
        except (Exception, asyncio.CancelledError) as raised:
            error = raised
        if self._lost:
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
            self._count_unsent()
        if kept_bytes and not self._memory.bytes:
            self._needs_no_memory()

    def _send_ready(self) -> None:
        """Give the writer the answers whose turn it is; read on when there is room again."""
        parked, writer = self._parked, self._writer
        parked.send_ready(writer)
        if writer.blocked:
            self._hold(WRITING)
        else:
            self._let_go(WRITING)
        if self._is_counted or writer.blocked:
            self._count_unsent()
        if len(parked) < self._max_parked:
            self._let_go(PARKED)
        if self._held & CLOSING:
            self._maybe_close()

    def _count_unsent(self) -> None:
        """Answers that the peer has not read, in the transport, and what waits behind an answer: others, requests."""
        size_bytes = self._transport.get_write_buffer_size() + self._writer.unsent_bytes + self._parked.unsent_bytes
        reader = self._reader
        if self._frames or reader.has_more:
            size_bytes += self._last_read_bytes + len(self._frames) * _OF_A_WAITING_FRAME + reader.rest_bytes
        if reader.held_bytes and self._held & FRAMES_WAIT:
            size_bytes += reader.held_bytes
            self._keep_no_one_from_reading()
        self._is_counted = size_bytes > 0
        if self._is_counted:
            self._resources.unsent.hold(self, size_bytes)
        else:
            self._resources.unsent.forget(self)

    # --- reading or not

    def _hold(self, reason: int) -> None:
        if not self._held:
            self._transport.pause_reading()
            if self._memory.half_frame_bytes:
                self._resources.memory.end_turn(self)  # before the frame is complete
        self._held |= reason
        if reason & UNREAD_FOR_LONG and not self._lost:
            self._resources.disconnects.watch(self)

    def _let_go(self, reasons: int) -> None:
        held = self._held
        if not held & reasons:
            return
        self._held = held & ~reasons
        if reasons & UNREAD_FOR_LONG and not self._held & UNREAD_FOR_LONG:
            self._resources.disconnects.forget(self)
        if not self._held & ~MEMORY:
            self._read_on()

    def _start_waiting(self) -> bool:
        """Start what may be started in this turn of the loop. Whether anything was."""
        frames = self._frames
        room = _MOST_IN_A_TURN
        self._turn_s = 0.0
        while not self._held & ~MEMORY and (frames or self._take_more()):
            if not room or self._turn_s > _LONGEST_TURN_S:
                self._let_others_go_first()
                break
            room -= 1
            self._start(frames.popleft())
        return room < _MOST_IN_A_TURN

    def _take_more(self) -> bool:
        """The next frames of the last read, in a later turn of the loop. Whether there are any."""
        if not self._reader.has_more:
            return False
        try:
            frames = self._reader.more()
        except FrameSizeError as error:
            self._stranger = error
            frames = error.frames
        self._frames.extend(frames)
        return bool(frames)

    def _read_on(self) -> None:
        has_started = self._start_waiting()
        if self._stranger is not None and not self._frames:
            self._writer.flush()
            self._refuse_frame(self._stranger)
            return
        frames = self._frames
        if self._reader.held_bytes != self._memory.half_frame_bytes and not self._held & FRAMES_WAIT:
            self._memory.count_half_frame(self._reader.held_bytes)
        if self._is_counted or frames or (self._held & FRAMES_WAIT and self._reader.held_bytes):
            if has_started:
                self._resources.unsent.forget(self)  # it has moved on
            self._count_unsent()
        self._writer.flush()
        if self._memory.bytes:
            self._watch_memory()
        elif self._held & MEMORY:
            self._needs_no_memory()
            return
        if not self._held:
            self._transport.resume_reading()

    def _let_others_go_first(self) -> None:
        self._hold(TURN)
        self._resources.loop.call_soon(self._let_go, TURN)

    def _watch_memory(self) -> None:
        memory = self._resources.memory
        if self._held & MEMORY:
            memory.could_read(self)
        elif memory.is_over and not memory.may_read_on(self):
            self._hold(MEMORY)
            self._resources.stalled_halves.watch()

    def _keep_no_one_from_reading(self) -> None:
        """Its half frame will not be completed soon. So it counts as what waits, whose longest is hung up on: others
        would wait for the memory that it takes."""
        if self._memory.half_frame_bytes:
            self._memory.count_half_frame(0)
            if not self._memory.bytes:
                self._needs_no_memory()

    def _needs_no_memory(self) -> None:
        """It waits no more, and the others need not wait for it."""
        self._resources.memory.forget(self)
        self._let_go(MEMORY)

    # --- endings

    def _refuse_frame(self, error: FrameSizeError) -> None:
        if self._requests_started == 0 and (stranger := recognise(error.start)) is not None:
            if stranger.answer:
                self._writer.write_raw(stranger.answer)
            self._refuse(stranger.offence, stranger.description)
            return
        limit = self._resources.settings.max_request_bytes
        allowed = f"socket.request.max.bytes allows 1 to {limit}"
        self._refuse(Offence.FRAME_SIZE, f"a request of {error.size} bytes; {allowed}")

    def _refuse(self, offence: Offence, reason: str) -> None:
        self._warn(offence, reason)
        self.finish()

    def _warn(self, offence: Offence, reason: str) -> None:
        self._resources.offenders.warn(self.info.peer_host, offence, f"Closing the connection of {self.info}: {reason}")

    def _failed(self, error: BaseException, api_key: int, api_version: int) -> None:
        """A handler did not answer but raised: it should have answered with an error code, or it wants us to close."""
        if isinstance(error, CloseConnectionError):
            self._refuse(error.offence, str(error))
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
        """An answer cannot be finished, so no further one can follow it."""
        if isinstance(error, AnswerTooLongError):
            self._warn(Offence.LONG_ANSWER, str(error))
        elif not isinstance(error, ConnectionError):
            logger.warning("Closing the connection of %s in the middle of an answer: %s", self.info, error)
        self.abort()

    def _maybe_close(self) -> None:
        if not self._parked and not self._writer.blocked:
            self._writer.flush()
            self._transport.close()

    def _new_sender(self) -> RegionSender:
        resources = self._resources
        resources.local_peers.will_be_sent_records(self._transport, self.info)
        return self._owner.new_sender(
            self._transport, resources.loop, resources.run_in_worker, self._writer.transport_is_full
        )
