"""One connection: when it is read, and how it ends.

The path of a request: bytes → `FrameReader` → frames → `RequestPipeline` → `ResponseWriter`.
Back-pressure is not reading. `ReadPause` lists the reasons; frames already received wait in ``_frames`` and in the
reader (one read's worth at most) and start first when the last reason ends. A pause for MEMORY alone keeps no complete
frame waiting, because handling frames is what frees memory. All requests of one read are started in one pass, and
responses that are ready leave in one write; after very many requests, or much work, the others wait for the next
iteration of the loop.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Protocol, cast

from ..security.principal import Principal
from .admission.gate import LARGE_BYTES
from .admission.memory import ConnectionMemory
from .admission.read_pause import CLOSING, CONNECTION_LIMIT, MEMORY, QUEUED, RESPONSES, THROTTLED, ReadPause, ReadSwitch
from .client_traffic import ClientKey, ClientTraffic
from .frame_gate import FrameGate
from .frame_reader import FIRST_READ, TINY_READ, BadFrame, FrameReader
from .loop_resources import LoopResources
from .offender_log import Violation
from .protocol_sniffing import recognise
from .region_sender import RegionSender, RegionSenderFactory
from .request import ConnectionInfo, ReplyPart, no_connection
from .request_pipeline import RequestPipeline
from .response_writer import ResponseTooLongError, ResponseWriter
from .socket_states import descriptor_of, leaves_many_descriptors, reset_at_close
from .transport import Transport, bytes_below

__all__ = ["Connection", "ConnectionOwner"]

logger = logging.getLogger(__name__)

_HALF_CLOSED_S = 2.0
"""When a client has half-closed and its requests are still unanswered after this time, the connection is aborted."""
_MAX_REQUESTS_PER_PASS = 32
_MAX_PASS_S = 0.00025
_WAITING_FRAME_OVERHEAD_BYTES = 96
_TINY_READ_PAUSE_S = 0.2
_TOLD_BY_REASON = (Violation.LOGIN, Violation.REFUSED_REQUEST)
"""Violations of which each reason has its own log line, because a host may have several users."""
_BEHIND_RESPONSES = RESPONSES | THROTTLED
"""Pauses in which a partial frame cannot complete. Its memory counts in `responses`, so that it does not block other
connections' reads."""


class ConnectionOwner(Protocol):
    """The listener that accepted a connection."""

    new_sender: RegionSenderFactory

    def connected(self, connection: "Connection", transport: Transport) -> ConnectionInfo: ...

    def frame_gate(self, info: ConnectionInfo) -> FrameGate | None:
        """None: clients of the listener do not log in."""

    def disconnected(self, connection: "Connection") -> None: ...


class Connection(asyncio.BufferedProtocol):
    """Implements `ManagedConnection` and `PipelineOwner`, whose docstrings are not repeated. It runs on the loop."""

    info: ConnectionInfo
    _transport: Transport
    _bytes_below: Callable[[], int] | None
    _reading: ReadSwitch
    _writer: ResponseWriter
    _requests: RequestPipeline

    def __init__(self, resources: LoopResources, owner: ConnectionOwner) -> None:
        self._resources = resources
        self._owner = owner
        self._reader = FrameReader(resources.read_buffer, resources.settings.max_request_bytes, resources.frame_pool)
        self._frames: deque[bytearray] = deque()  # read, not started
        self._memory = ConnectionMemory(resources.memory)
        self.share = resources.gate.new_share()
        self.last_active_s = 0.0
        self.is_admitted = False
        self._is_lost = False
        self._is_aborted = False
        self._half_closed: asyncio.TimerHandle | None = None
        self._progress_seen = 0

    # --- called by the loop

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("Transport", transport)  # uvloop's and a simulation's need not inherit from it
        self._transport.set_write_buffer_limits(high=0)
        self._bytes_below = bytes_below(self._transport)
        self._reading = ReadSwitch(self, self._transport, self._resources.loop, self._resources.disconnects)
        self._writer = ResponseWriter(
            self._transport, self._new_sender, lambda: self._requests.send_ready(), self._broken
        )
        self._requests = RequestPipeline(self._resources, self, self._reading, self._memory, self._writer)
        self.info = self._owner.connected(self, self._transport)
        self.info.throttle = self._reading.throttle
        self._requests.frame_gate = self._owner.frame_gate(self.info)
        self.frame_limit_changed()
        self._resources.idle.touch(self)

    def get_buffer(self, sizehint: int) -> bytearray | memoryview:
        resources, reader = self._resources, self._reader
        is_scarce = resources.memory.frames.is_over
        if not reader.wants_long_read:
            return reader.get_buffer(is_scarce)
        # While requests are unanswered, new bytes may have to be kept, so read less.
        return reader.get_buffer(is_scarce, is_long=self._requests.is_empty and resources.may_read_long(self))

    def buffer_updated(self, nbytes: int) -> None:
        resources, reader = self._resources, self._reader
        frames = reader.received(nbytes)
        resources.idle.touch(self)
        if frames:
            self._requests.received_ms = resources.clock_ms()
            self._requests.received_s = 0.0
            if len(frames) == 1 and not self._reading.pauses & ~MEMORY and not reader.has_more:  # the usual case
                self.share.used_s = 0.0
                self._requests.start(frames[0])
            else:
                if resources.timer is not None:
                    self._requests.received_s = resources.timer.now_s()
                self._frames.extend(frames)
                self._start_frames()
            self._requests.flush()
            if reader.tiny_reads:
                reader.forgive_tiny_reads()
        elif nbytes < TINY_READ and not resources.memory.frames.is_over and reader.count_tiny_read():
            self._reading.throttle(_TINY_READ_PAUSE_S)
        if reader.bad_frame is not None and not self._frames:
            self._refuse_frame(reader.bad_frame)
        if self._reading.pauses or self._memory.frame_bytes or reader.held_bytes:
            self.count_memory()
        elif self._memory.work_bytes:
            self.watch_memory()
        if nbytes >= FIRST_READ and not self._reading.pauses and not resources.memory.frames.is_over:
            self._reading.yield_to_others()  # otherwise the loop would read on as long as bytes are there
        if self._reading.pauses:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Half-closed: answer the unanswered requests for a short time, because a closed peer looks the same."""
        has_unsent = not self._requests.is_empty or self._writer.blocked
        if not has_unsent or self._requests.may_take_long or not leaves_many_descriptors(self._transport):
            return False
        self.finish()
        self._resources.disconnects.forget(self)  # the poll would only find this end of stream again
        self._half_closed = self._resources.loop.call_later(_HALF_CLOSED_S, self._end_half_closed)
        return True

    def _end_half_closed(self) -> None:
        if self._requests.is_under_way:
            self.abort()

    def pause_writing(self) -> None:
        self._writer.pause()
        self._reading.pause(RESPONSES)
        self.count_memory()

    def resume_writing(self) -> None:
        # Not at once: we may close the transport then, and asyncio's does not expect that from within this call.
        self._resources.loop.call_soon(self._write_on)

    def _write_on(self) -> None:
        if not self._is_lost:
            self._resources.idle.touch(self)
            self._resources.memory.responses.moved(self)
            self._writer.resume()
            self.count_memory()

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = self._is_aborted = True
        self._reading.close()
        self._drop_unstarted()
        self._requests.close()
        self._writer.close()
        self.info.throttle = no_connection
        if self.info.when_closed is not None:
            self.info.when_closed()
        if self._half_closed is not None:
            self._half_closed.cancel()
        resources = self._resources
        resources.idle.forget(self)
        resources.local_socket_options.forget(self.info)
        self._owner.disconnected(self)

    # --- what other parts of the network layer ask

    @property
    def is_busy(self) -> bool:
        seen_before = self._progress_seen
        self._progress_seen = self._writer.region_bytes - self._transport.get_write_buffer_size()
        return self._progress_seen != seen_before or self._requests.is_under_way

    @property
    def partial_bytes(self) -> int:
        return self._reader.filled_bytes

    @property
    def reads_without_memory(self) -> bool:
        return not self._memory.work_bytes and self._reader.has_space

    @property
    def waits_for_memory_only(self) -> bool:
        return self._reader.held_bytes > 0 and not self._reading.pauses & ~MEMORY

    @property
    def descriptor(self) -> int:
        return descriptor_of(self._transport)

    @property
    def waiting_responses(self) -> int:
        """Responses that are known and wait for earlier ones, or for the client to read."""
        return self._requests.ready_count

    @property
    def traffic(self) -> ClientTraffic:
        """The connection's requests and bytes so far."""
        info, requests = self.info, self._requests
        traffic = ClientTraffic(ClientKey(requests.client_id or "", str(info.principal), info.software, info.peer_host))
        traffic.connections = 1
        traffic.requests = requests.started_count
        traffic.bytes_in = requests.received_bytes
        traffic.bytes_out = self._writer.sent_bytes
        traffic.throttle_ms = info.throttled_ms
        traffic.last_seen_ms = requests.received_ms
        return traffic

    @property
    def is_ending(self) -> bool:
        """The connection takes no further request, and is closed or will be."""
        return ReadPause.CLOSING in self.read_pause

    @property
    def read_pause(self) -> ReadPause:
        """Why the connection is not read now."""
        return ReadPause(self._reading.pauses)

    # --- reading or not

    def reading_stopped(self) -> None:
        if self._reader.held_bytes:
            self._resources.memory.frames.end_exemption(self)

    def go_on(self) -> None:
        """Start the frames that waited, then read on if no reason is left."""
        if self._start_frames():
            self._resources.memory.responses.moved(self)
        self._requests.flush()
        if self._reader.bad_frame is not None and not self._frames:
            self._refuse_frame(self._reader.bad_frame)
            return
        self.count_memory()
        if not self._reading.pauses:
            self._transport.resume_reading()

    def _start_frames(self) -> bool:
        """Start waiting frames, at most `_MAX_REQUESTS_PER_PASS` and none after `_MAX_PASS_S`. Whether any started.

        After a large produce request the next one waits, because the response, which may come at once, decides whether
        it must queue.
        """
        frames, share, memory = self._frames, self.share, self._memory
        left = _MAX_REQUESTS_PER_PASS
        share.used_s = 0.0
        work_bytes = memory.work_bytes
        while not self._reading.pauses & ~MEMORY and (frames or self._take_more()):
            if not left or share.used_s > _MAX_PASS_S or memory.work_bytes - work_bytes > LARGE_BYTES:
                self._reading.yield_to_others()
                break
            left -= 1
            work_bytes = memory.work_bytes
            self._requests.start(frames.popleft())
        return left < _MAX_REQUESTS_PER_PASS

    def _take_more(self) -> bool:
        """Take the next frames of the last read. Whether there are any."""
        if self._reader.has_more:
            self._frames.extend(self._reader.more())
        return bool(self._frames)

    def put_back(self, frame: bytearray) -> None:
        self._frames.appendleft(frame)
        self._reading.pause(QUEUED)

    def start_queued(self) -> None:
        self._resources.gate.let_start(self, partial(self._reading.resume, QUEUED))

    def wait_for_admission(self) -> None:
        self._reading.pause(CONNECTION_LIMIT)

    def admit(self) -> None:
        self.is_admitted = True
        self._reading.resume(CONNECTION_LIMIT)

    def authenticated(self, principal: Principal) -> None:
        """For a layer that knows the client by its certificate; before it delivers the first byte."""
        self.info.principal = principal
        self.info.counters.logins_succeeded += 1

    def frame_limit_changed(self) -> None:
        frame_gate, most_bytes = self._requests.frame_gate, self._resources.settings.max_request_bytes
        limit = None if frame_gate is None else frame_gate.max_frame_bytes
        if limit is None:
            self._reader.limit(most_bytes, one_at_a_time=False)
        else:
            self._reader.limit(min(limit, most_bytes), one_at_a_time=True)

    # --- responses and memory

    def responses_sent(self) -> None:
        if self._memory.response_bytes or self._writer.blocked:
            self.count_memory()
        if self._reading.pauses & CLOSING:
            self._maybe_close()

    def _new_sender(self) -> RegionSender:
        resources = self._resources
        resources.local_socket_options.will_be_sent_records(self._transport, self.info)
        return self._owner.new_sender(
            self._transport, resources.loop, resources.run_in_worker, self._writer.transport_is_full
        )

    def count_memory(self) -> None:
        """Count unsent responses and everything queued behind them in account `responses`, and frames that arrive or
        wait for other reasons in `frames`."""
        reader, frames, memory = self._reader, self._frames, self._memory
        frame_bytes = reader.held_bytes + reader.rest_bytes
        if frames:
            frame_bytes += sum(map(len, frames)) + len(frames) * _WAITING_FRAME_OVERHEAD_BYTES
        if self._bytes_below is not None and self._reading.pauses and not self._reading.pauses & MEMORY:
            frame_bytes += self._bytes_below()  # not during a pause for MEMORY, which only the end of frames may end
        response_bytes = 0
        if not self._is_aborted:
            if memory.response_bytes or self._writer.blocked or not self._requests.is_empty:
                response_bytes = self._transport.get_write_buffer_size()
                response_bytes += self._writer.unsent_bytes + self._requests.unsent_bytes
            if self._reading.pauses & _BEHIND_RESPONSES:
                response_bytes += frame_bytes
                frame_bytes = 0
        memory.count(self, frame_bytes, response_bytes)
        self.watch_memory()

    def watch_memory(self) -> None:
        frames = self._resources.memory.frames
        if not (self._memory.frame_bytes or self._memory.work_bytes):
            if self._reading.pauses & MEMORY or frames.exempt is self:
                frames.forget(self)
                self._reading.resume(MEMORY)
        elif self._reading.pauses & MEMORY:
            frames.offer_exemption()
        elif frames.is_over and not self._reading.pauses and not frames.may_read(self):
            self._reading.pause(MEMORY)

    def memory_is_free(self) -> None:
        self._reading.resume(MEMORY)

    # --- endings

    def finish(self) -> None:
        self._reading.pause(CLOSING)
        self._drop_unstarted()
        self._maybe_close()

    def _maybe_close(self) -> None:
        if self._requests.is_empty and not self._writer.blocked:
            self._requests.flush()
            self._transport.close()

    def abort(self) -> None:
        """Close now, whatever is under way."""
        self._is_aborted = True
        self._reading.pause(CLOSING)
        self._drop_unstarted()
        self._transport.abort()

    def reset(self) -> None:
        """``abort`` so that the peer sees a reset, even when no response is unsent."""
        reset_at_close(self._transport)
        self.abort()

    def end_within(self, parts: list[ReplyPart], after_bytes: int, *, is_reset: bool) -> None:
        """When the response ``parts`` is next: send so many bytes of its frame, then close or reset. For tests."""
        self._requests.cut(parts, after_bytes, self.reset if is_reset else self._end)

    def _end(self) -> None:
        """Close when the transport has sent what it holds, whatever is under way."""
        self._reading.pause(CLOSING)
        self._drop_unstarted()
        self._transport.close()

    def _drop_unstarted(self) -> None:
        self._frames.clear()
        self._reader.abandon()
        self._resources.gate.queue.forget(self)
        self._resources.memory.frames.forget(self)
        self.count_memory()

    def peer_has_closed(self) -> None:
        """Abort if the connection is closing or its next request would wait long, except while a produce is in work.

        Produce requests already received are still carried out, although the client has closed.
        """
        waits_long = self._requests.is_full or self._resources.gate.queue.holds(self)
        if self._reading.pauses & CLOSING or (waits_long and not self._memory.work_bytes):
            self.abort()

    def close_idle(self) -> None:
        logger.debug("Closing %s: idle for %d ms", self.info, self._resources.settings.max_idle_ms)
        self.abort()

    def close_for(self, violation: Violation, reason: str) -> None:
        self._warn(violation, reason)
        self.abort()

    def _broken(self, error: OSError) -> None:
        """A response cannot be finished, so no other can follow it."""
        if isinstance(error, ResponseTooLongError):
            self.close_for(Violation.LONG_RESPONSE, str(error))
            return
        if not isinstance(error, ConnectionError):
            logger.warning("Closing the connection of %s in the middle of a response: %s", self.info, error)
        self.abort()

    def _refuse_frame(self, bad: BadFrame) -> None:
        other = None if self._requests.started_count else recognise(bad.start)
        if other is None:
            self.refuse(Violation.FRAME_SIZE, f"a request of {bad.size} bytes; {self._frame_limit()}")
            return
        if other.answer:
            self._writer.write_raw(other.answer)
        self.refuse(other.violation, other.description)

    def _frame_limit(self) -> str:
        """The limit in force, with the setting that it comes from."""
        limit, frame_gate = self._resources.settings.max_request_bytes, self._requests.frame_gate
        before_login = None if frame_gate is None else frame_gate.max_frame_bytes
        if before_login is not None and before_login < limit:
            return f"sasl.server.max.receive.size allows 1 to {before_login} before the client has logged in"
        return f"socket.request.max.bytes allows 1 to {limit}"

    def refuse(self, violation: Violation, reason: str) -> None:
        self._warn(violation, reason)
        self.finish()

    def _warn(self, violation: Violation, reason: str) -> None:
        message = f"Closing the connection of {self.info}: {reason}"
        about = reason if violation in _TOLD_BY_REASON else ""
        self._resources.offenders.warn(self.info.peer_host, violation, message, about)
