"""One side of a TLS connection without I/O: bytes of the network in, bytes for the network out.

OpenSSL works on buffers that all connections of the loop share, see `buffers`. So a method may be called at any time,
but only by the thread of the loop.
"""

import contextlib
import ssl
from collections.abc import Iterable

from .buffers import TlsBuffers

__all__ = ["RECORD_BYTES", "TlsEngine", "is_first_record_whole"]

RECORD_BYTES = 16 * 1024
"""Plaintext in one TLS record at most."""
_HEADER_BYTES = 5
_MAJOR_VERSION = 3  # of every version of TLS


class TlsEngine:
    """``server_hostname``: for a client, the name or address that the server's certificate must have.

    Every method may raise `ssl.SSLError`. Then `take_output` may have an alert for the peer, and nothing else may be
    called.
    """

    __slots__ = ("_buffers", "_incoming", "_kept_input", "_kept_output", "_outgoing", "_tls", "is_established",
                 "peer_has_closed")  # fmt: skip

    def __init__(
        self, context: ssl.SSLContext, buffers: TlsBuffers, *, server_side: bool, server_hostname: str | None = None
    ) -> None:
        self._buffers = buffers
        self._incoming, self._outgoing = buffers.incoming, buffers.outgoing
        self._kept_input = self._kept_output = b""  # while another connection uses the buffers
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side, server_hostname)
        self.is_established = False
        self.peer_has_closed = False
        """The peer's close_notify was read."""

    def leave_buffers(self) -> None:
        """See `BufferUser`."""
        self._kept_input = self._incoming.read()
        self._kept_output = self._outgoing.read()

    def _use_buffers(self) -> None:
        buffers = self._buffers
        if buffers.user is self:
            return
        if buffers.user is not None:
            buffers.user.leave_buffers()
        buffers.user = self
        if self._kept_input:
            self._incoming.write(self._kept_input)
            self._kept_input = b""
        if self._kept_output:
            self._outgoing.write(self._kept_output)
            self._kept_output = b""

    def feed(self, data: bytes | memoryview) -> None:
        """Add bytes from the network."""
        self._use_buffers()
        self._incoming.write(data)

    def handshake(self) -> bool:
        """Take the handshake as far as the bytes allow. Whether it is complete."""
        if not self.is_established:
            self._use_buffers()
            with contextlib.suppress(ssl.SSLWantReadError):
                self._tls.do_handshake()
                self.is_established = True
        return self.is_established

    @property
    def _unread_bytes(self) -> int:
        return self._incoming.pending if self._buffers.user is self else len(self._kept_input)

    @property
    def may_have_plaintext(self) -> bool:
        """False: there is nothing to read until more bytes are fed."""
        return bool(self._unread_bytes or self._tls.pending())

    @property
    def held_bytes(self) -> int:
        """Bytes that were fed and not read, except for the part of a record that OpenSSL has taken."""
        return self._unread_bytes + self._tls.pending()

    def read_into(self, buffer: bytearray | memoryview) -> int:
        """Decrypt into ``buffer`` until it is full or nothing is left. Returns the number of bytes."""
        self._use_buffers()
        filled, size = 0, len(buffer)
        view = memoryview(buffer)
        try:
            while filled < size and (self._incoming.pending or self._tls.pending()):
                count: int = self._tls.read(size - filled, view[filled:])  # type: ignore[assignment]
                if not count:
                    self.peer_has_closed = True
                    break
                filled += count
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLZeroReturnError:
            self.peer_has_closed = True
        return filled

    def encrypt(self, pieces: Iterable[bytes | bytearray | memoryview]) -> list[bytes]:
        """The records of ``pieces``, one for each; none of the pieces is longer than `RECORD_BYTES`."""
        self._use_buffers()
        write, take = self._tls.write, self._outgoing.read
        records = []
        for piece in pieces:
            written = write(piece)
            assert written == len(piece), "a piece was longer than a record"
            records.append(take())
        return records

    def take_output(self) -> bytes:
        """Bytes of handshakes, tickets, alerts and key updates that must go to the network."""
        if self._buffers.user is self:
            return self._outgoing.read() if self._outgoing.pending else b""
        output, self._kept_output = self._kept_output, b""
        return output

    def close_notify(self) -> bytes:
        """The record that says that no plaintext follows. The peer's own one is not waited for."""
        self._use_buffers()
        with contextlib.suppress(ssl.SSLError):
            self._tls.unwrap()
        return self.take_output()

    @property
    def tls(self) -> ssl.SSLObject:
        """For questions about the connection: version, cipher, certificate."""
        return self._tls

    @property
    def peer_certificate(self) -> bytes | None:
        """The verified certificate of the peer in DER; None when it has shown none, or none was asked for."""
        return self._tls.getpeercert(binary_form=True) if self.is_established else None


def is_first_record_whole(start: bytes) -> bool:
    """Whether ``start`` has the first record of a stream, or a header from which OpenSSL sees that it is no TLS."""
    if len(start) < _HEADER_BYTES:
        return False
    size = int.from_bytes(start[3:_HEADER_BYTES])
    return start[1] != _MAJOR_VERSION or size > RECORD_BYTES or len(start) >= _HEADER_BYTES + size
