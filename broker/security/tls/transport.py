"""A transport that encrypts: it stands between the socket's transport and the protocol that uses it.

**Why.** The TLS of asyncio and uvloop hides connections until their handshake ends, keeps 256 KiB for each, reads on
while the protocol has paused reading, loses half-closes, and does not log failures.
**How.** To the socket's transport this object is the protocol, to the protocol it is the transport. It reads into a
buffer that all connections share, and decrypts into the protocol's buffer. Plaintext that the socket does not take
stays unencrypted. While reading is paused, the socket is not read, and only the rest of the last read waits here.
"""

import asyncio
from collections.abc import Iterable
from typing import cast

from .failures import Cause, TlsError, TlsFailure
from .stream import NO_PROTOCOL, TlsStream
from .unsent import Plaintext
from .writer import EncryptingWriter

__all__ = ["TlsTransport"]

_HANDSHAKE_READ = 16 * 1024


class TlsTransport(TlsStream, asyncio.BufferedProtocol):
    """One connection.

    A server's protocol gets ``connection_made`` at once, because limits on connections count those in the handshake;
    what it writes waits. A client's protocol gets it after the handshake. ``connection_lost`` has the failure, if any.
    """

    __slots__ = ()

    can_send_files = False

    # --- called by the socket's transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._raw = cast("asyncio.Transport", transport)  # uvloop's and a simulation's need not inherit from it
        self._raw.set_write_buffer_limits(high=0)
        self._writer = EncryptingWriter(self._raw)
        self._deadline = self._side.loop.call_later(self._side.deadline_s, self._deadline_is_over)
        if self._side.is_server:
            self._protocol.connection_made(cast("asyncio.BaseTransport", self))
        else:
            self._receive(b"")

    def get_buffer(self, sizehint: int) -> memoryview:
        buffer = self._side.ciphertext
        return buffer if self.is_established else buffer[:_HANDSHAKE_READ]

    def buffer_updated(self, nbytes: int) -> None:
        if self._held:  # a transport that delivers once more after pause_reading
            self._held += bytes(self._side.ciphertext[:nbytes])
        else:
            self._receive(self._side.ciphertext[:nbytes])
            if nbytes == len(self._side.ciphertext) and not (self._reading_paused or self._is_closing):
                # Otherwise the loop would read on as long as bytes are there.
                self._pause_raw()
                self._set_turn()

    def eof_received(self) -> bool:
        """The peer closed its side, perhaps without close_notify: Kafka's frames have lengths, so that is enough."""
        if self._is_closing:
            return False
        if not self.is_established:
            if self._handshake_bytes or not self._side.is_server:
                self._fail(TlsFailure(Cause.CLOSED))
            return False
        self._end_stream()
        return self._keeps_open and not self._is_closing

    def pause_writing(self) -> None:
        self._writer.is_full = True

    def resume_writing(self) -> None:
        self._writer.is_full = False
        self._write_on()

    def connection_lost(self, exc: Exception | None) -> None:
        if not (self.is_established or self._is_closing) and (self._handshake_bytes or not self._side.is_server):
            failure = TlsFailure(Cause.CLOSED)
            self._error = TlsError(self._side.server_hostname, failure)
            self._side.events.failed(self, failure)
        self._is_closing = self._is_lost = True
        self._drop()
        self._protocol.connection_lost(self._error or exc)
        # Drop the references to each other, so that both are freed without a garbage collection.
        self._protocol, self._engine, self._writer.engine = NO_PROTOCOL, None, None

    # --- the transport of the protocol

    def is_closing(self) -> bool:
        return self._is_closing

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The limit is always 0: ``pause_writing`` means that bytes are left, ``resume_writing`` that none are."""

    def get_write_buffer_size(self) -> int:
        """Plaintext that is not encrypted yet, and ciphertext that the socket has not taken."""
        return self._writer.unencrypted_bytes + (0 if self._is_lost else self._raw.get_write_buffer_size())

    def get_read_buffer_size(self) -> int:
        """Bytes received that wait because reading is paused, or for the rest of a record: `CIPHERTEXT_BYTES` and a
        record at most. A lost connection holds none."""
        if self._is_lost:
            return 0
        return self._unread_bytes + (len(self._start) if self._engine is None else self._engine.held_bytes)

    def pause_reading(self) -> None:
        self._reading_paused = True
        self._pause_raw()

    def resume_reading(self) -> None:
        if self._reading_paused:
            self._reading_paused = False
            if self.get_read_buffer_size() or self._engine is None:
                self._set_turn()
            elif not self._is_closing and not self._waits:
                self._raw.resume_reading()

    def write(self, data: Plaintext) -> None:
        self.writelines((data,))

    def writelines(self, parts: Iterable[Plaintext]) -> None:
        if not self._is_closing:
            self._writer.add(parts)
            self._send()
