"""One TLS connection between a socket's transport and a protocol: handshake, reading, writing, and endings.

`TlsTransport` shows it to the two. Nothing here depends on which of them calls.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Any, cast

from ....base.timers import TimerHandle
from ..principal import Principal
from .engine import TlsEngine, is_first_record_whole
from .failures import Cause, TlsError, TlsFailure, failure_of, plain_text
from .side import TlsSide
from .writer import EncryptingWriter

__all__ = ["HANDSHAKE_BYTES", "NO_PROTOCOL", "TlsStream"]

HANDSHAKE_BYTES = 64 * 1024
"""Bytes that a peer may send before the handshake is complete. Long chains of certificates need about 20 KiB."""
_TLS_HANDSHAKE = 0x16
NO_PROTOCOL = asyncio.BufferedProtocol()
"""In place of the protocol when the connection is lost."""


class TlsStream:
    """The state of one connection. ``_raw`` is the socket's transport."""

    __slots__ = ("_deadline", "_engine", "_error", "_handshake_bytes", "_held", "_is_closing", "_is_lost",
                 "_keeps_open", "_protocol", "_raw", "_reading_paused", "_side", "_start", "_stream_ended",
                 "_turn_is_set", "_unread_bytes", "_waits", "_writer", "authenticated")  # fmt: skip

    _raw: asyncio.Transport
    _writer: EncryptingWriter

    def __init__(
        self,
        protocol: asyncio.BufferedProtocol,
        side: TlsSide,
        authenticated: Callable[[Principal], None] | None = None,
    ) -> None:
        self._protocol = protocol
        self._side = side
        self.authenticated = authenticated  # for the owner, which may call it when the handshake is complete
        self._engine: TlsEngine | None = None
        self._start = b""  # what a client has sent before its first record is whole and the queue lets it begin
        self._held = b""  # ciphertext of the last read, not given to the engine
        self._unread_bytes = 0  # of the last read, not given to the engine
        self._error: TlsError | None = None
        self._handshake_bytes = 0
        self._deadline: TimerHandle | None = None
        self._waits = False  # for the queue of handshakes
        self._reading_paused = False  # by the protocol
        self._turn_is_set = False
        self._stream_ended = False  # no plaintext will come, and the protocol was told so
        self._keeps_open = False  # the protocol wants to write after the end of the stream
        self._is_closing = False
        self._is_lost = False

    @property
    def is_established(self) -> bool:
        """The handshake is complete."""
        return self._engine is not None and self._engine.is_established

    @property
    def peer_certificate(self) -> bytes | None:
        """See `TlsEngine.peer_certificate`."""
        return None if self._engine is None else self._engine.peer_certificate

    @property
    def peer_host(self) -> str:
        """The address of the peer; "" if it has none."""
        peer = self._raw.get_extra_info("peername")
        return str(peer[0]) if peer else ""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "ssl_object":
            return default if self._engine is None else self._engine.tls
        return self._raw.get_extra_info(name, default)

    def close(self) -> None:
        """Send what was written and close_notify, then close. No more is read."""
        if not self._is_closing:
            self._is_closing = True
            self._pause_raw()
            self._held = b""
            if not self.is_established:
                self._writer.clear()
            self._finish_closing()

    def abort(self) -> None:
        if not self._is_lost:
            self._is_closing = True
            self._drop()
            self._raw.abort()

    # --- reading

    def _receive(self, data: bytes | memoryview) -> None:
        """Decrypt and deliver ``data``; keep the rest when the protocol pauses reading or the handshake must wait."""
        self._unread_bytes = len(data)
        try:
            if self._take_in() and data:
                self._unread_bytes = 0
                if self._feed(data):
                    self._take_in()
        except ssl.SSLError as error:
            self._fail(failure_of(error))
        if self._unread_bytes and not self._is_closing and not self._stream_ended:
            self._held = bytes(data)
        else:
            self._unread_bytes = 0

    def _feed(self, data: bytes | memoryview) -> bool:
        """Keep bytes of the network for the engine, or give them to it. Whether the engine may go on now."""
        if self._engine is None:
            self._start += bytes(data)
            if self._start[0] != _TLS_HANDSHAKE:
                self._fail(plain_text(self._start[:16]))
                return False
        else:
            self._engine.feed(data)
            if self._engine.is_established:
                return True
        self._handshake_bytes += len(data)
        if self._engine is None and not is_first_record_whole(self._start):
            return True
        if self._side.handshakes is not None and not self._side.handshakes.may_step(self):
            self._waits = True
            self._pause_raw()
            return False
        return True

    def _new_engine(self) -> TlsEngine:
        side = self._side
        return TlsEngine(side.context, side.buffers, server_side=side.is_server, server_hostname=side.server_hostname)

    def _take_in(self) -> bool:
        """Go on with the handshake, or deliver what can be decrypted. Whether more bytes may be fed."""
        if self._waits or self._is_closing or self._reading_paused:
            return False
        if self._engine is None:
            if self._side.is_server and not is_first_record_whole(self._start):
                return True
            self._engine = self._new_engine()
            self._engine.feed(self._start)
            self._start = b""
        if not self._engine.is_established and not self._shake_hands(self._engine):
            return not self._is_closing
        self._deliver(self._engine)
        return not (self._reading_paused or self._is_closing or self._stream_ended)

    def _shake_hands(self, engine: TlsEngine) -> bool:
        """Whether the handshake is complete."""
        is_complete = engine.handshake()
        self._write_output(engine)
        if not is_complete:
            if self._handshake_bytes > HANDSHAKE_BYTES:
                self._fail(TlsFailure(Cause.TOO_LONG))
            return False
        self._end_handshake()
        self._writer.engine = engine
        self._side.events.established(self)
        if not self._side.is_server and not self._is_closing:
            self._protocol.connection_made(cast("asyncio.BaseTransport", self))
        if not self._is_closing:
            self._write_on()
        return not self._is_closing

    def _deliver(self, engine: TlsEngine) -> None:
        while engine.may_have_plaintext and not (self._reading_paused or self._is_closing or self._stream_ended):
            self._deliver_once(engine)

    def _deliver_once(self, engine: TlsEngine) -> None:
        """One call of the protocol. Its buffer must be released before it is asked for the next one."""
        count = engine.read_into(cast("bytearray", self._protocol.get_buffer(-1)))
        if count:
            self._protocol.buffer_updated(count)
        if self._is_closing:
            return
        self._write_output(engine)  # a key update is answered
        if engine.peer_has_closed:
            self._end_stream()

    def _end_stream(self) -> None:
        """Tell the protocol that no plaintext follows, once. It may keep the connection open to write."""
        if not self._stream_ended:
            self._stream_ended = True
            self._held = b""
            self._keeps_open = bool(self._protocol.eof_received())
            if not self._keeps_open:
                self.close()

    def _set_turn(self) -> None:
        if not self._turn_is_set:
            self._turn_is_set = True
            self._side.loop.call_soon(self._turn)

    def _turn(self) -> None:
        """The next iteration of the loop: go on with what waits here, writing or reading."""
        self._turn_is_set = False
        if self._is_lost:
            return
        if not self._writer.is_empty:
            self._write_on()
        if self._is_closing or self._reading_paused or self._waits:
            return
        self._read_on()

    def _read_on(self) -> None:
        held, self._held = self._held, b""
        self._receive(held)
        if not (self._held or self._reading_paused or self._is_closing or self._waits):
            self._raw.resume_reading()

    def _pause_raw(self) -> None:
        if not self._raw.is_closing():
            self._raw.pause_reading()

    def take_step(self) -> None:
        self._waits = False
        if not self._is_closing and not self._reading_paused:
            self._read_on()

    def give_up(self) -> None:
        self._fail(TlsFailure(Cause.TOO_MANY))

    def _deadline_is_over(self) -> None:
        if self._waits or self._reading_paused:  # the time is the broker's, not the peer's
            self._deadline = self._side.loop.call_later(self._side.deadline_s, self._deadline_is_over)
        else:
            self._fail(TlsFailure(Cause.TOO_SLOW))

    def _end_handshake(self) -> None:
        """The handshake is complete, or will not be."""
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            if self._side.handshakes is not None:
                self._side.handshakes.ended(self)

    # --- writing

    def _write_output(self, engine: TlsEngine) -> None:
        if self._writer.send_output_of(engine):
            self._writer.tell(self._protocol)

    def _write_on(self) -> None:
        self._send()
        if self._is_closing and not self._is_lost:
            self._finish_closing()

    def _send(self) -> None:
        try:
            if self._writer.send():
                self._set_turn()
        except ssl.SSLError as error:
            if self._is_closing:  # by `close`: the rest cannot be sent
                self.abort()
            self._fail(failure_of(error))
        if not self._is_lost:
            self._writer.tell(self._protocol)

    def _finish_closing(self) -> None:
        if self._writer.is_empty and not self._raw.is_closing():
            if self._engine is not None and self._engine.is_established:
                self._raw.write(self._engine.close_notify())
            self._raw.close()

    def _fail(self, failure: TlsFailure) -> None:
        """Report the failure, and close after the alert for the peer. A peer that speaks no TLS gets no bytes."""
        if self._is_closing:
            return
        self._is_closing = True
        self._error = TlsError(self._side.server_hostname, failure)
        alert = b"" if self._engine is None else self._engine.take_output()
        self._drop()
        self._side.events.failed(self, failure)
        if alert and not self._raw.is_closing():
            self._raw.write(alert)
            self._raw.close()
        else:
            self._raw.abort()

    def _drop(self) -> None:
        self._end_handshake()
        self._start, self._held, self._unread_bytes = b"", b"", 0
        self._writer.clear()
