"""One side of a TLS connection without I/O: bytes of the network in, bytes for the network out.

OpenSSL keeps the buffers of an `ssl.MemoryBIO` as large as the largest content they had. So callers feed
`FEED_BYTES` at a time and read all plaintext before they feed more, and records are encrypted one at a time: after any
traffic an idle connection keeps two buffers of one record each.
"""

import contextlib
import ssl
from collections.abc import Iterable

__all__ = ["FEED_BYTES", "RECORD_BYTES", "TlsEngine", "is_first_record_whole"]

RECORD_BYTES = 16 * 1024
"""Plaintext in one TLS record at most."""
FEED_BYTES = 16 * 1024
_HEADER_BYTES = 5
_MAJOR_VERSION = 3  # of every version of TLS


class TlsEngine:
    """``server_hostname``: for a client, the name or address that the server's certificate must have.

    Every method may raise `ssl.SSLError`. Then `take_output` may have an alert for the peer, and nothing else may be
    called.
    """

    __slots__ = ("_incoming", "_outgoing", "_tls", "is_established", "peer_has_closed")

    def __init__(self, context: ssl.SSLContext, *, server_side: bool, server_hostname: str | None = None) -> None:
        self._incoming = ssl.MemoryBIO()
        self._outgoing = ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side, server_hostname)
        self.is_established = False
        self.peer_has_closed = False
        """The peer's close_notify was read."""

    def feed(self, data: bytes | memoryview) -> None:
        """Add up to `FEED_BYTES` bytes from the network."""
        self._incoming.write(data)

    def handshake(self) -> bool:
        """Take the handshake as far as the bytes allow. Whether it is complete."""
        if not self.is_established:
            with contextlib.suppress(ssl.SSLWantReadError):
                self._tls.do_handshake()
                self.is_established = True
        return self.is_established

    @property
    def may_have_plaintext(self) -> bool:
        """False: there is nothing to read until more bytes are fed."""
        return bool(self._incoming.pending or self._tls.pending())

    @property
    def held_bytes(self) -> int:
        """Bytes that were fed and not read, except for the part of a record that OpenSSL has taken."""
        return self._incoming.pending + self._tls.pending()

    def read_into(self, buffer: bytearray | memoryview) -> int:
        """Decrypt into ``buffer`` until it is full or nothing is left. Returns the number of bytes."""
        filled, size = 0, len(buffer)
        view = memoryview(buffer)
        try:
            while filled < size and self.may_have_plaintext:
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
        write, take = self._tls.write, self._outgoing.read
        records = []
        for piece in pieces:
            written = write(piece)
            assert written == len(piece), "a piece was longer than a record"
            records.append(take())
        return records

    def take_output(self) -> bytes:
        """Bytes of handshakes, tickets, alerts and key updates that must go to the network."""
        return self._outgoing.read() if self._outgoing.pending else b""

    def close_notify(self) -> bytes:
        """The record that says that no plaintext follows. The peer's own one is not waited for."""
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
