"""The sending half of a `TlsTransport`: what waits to be encrypted, and what the protocol is told about it."""

import asyncio
from collections.abc import Iterable

from .engine import TlsEngine
from .unsent import Plaintext, UnsentPlaintext

__all__ = ["STEP_BYTES", "EncryptingWriter"]

STEP_BYTES = 512 * 1024
"""Plaintext encrypted at most in one iteration of the loop, which takes less than a millisecond."""


class EncryptingWriter:
    """``engine`` is None until the handshake is complete: what is written before that waits."""

    __slots__ = ("_is_told", "_raw", "_unsent", "engine", "is_full")

    def __init__(self, raw: asyncio.Transport) -> None:
        self._raw = raw
        self._unsent = UnsentPlaintext()
        self._is_told = False  # the protocol was told to pause
        self.engine: TlsEngine | None = None
        self.is_full = False
        """The socket's transport holds unsent bytes."""

    @property
    def is_empty(self) -> bool:
        """Nothing waits to be encrypted."""
        return self._unsent.size_bytes == 0

    @property
    def unencrypted_bytes(self) -> int:
        return self._unsent.size_bytes

    def add(self, parts: Iterable[Plaintext]) -> None:
        """Queue plaintext; `send` encrypts it."""
        self._unsent.add(parts)

    def send(self) -> bool:
        """Encrypt and write, unless the socket takes no more. Whether to go on in the next iteration of the loop.

        Raises `ssl.SSLError` when the connection can send nothing more.
        """
        if self.engine is None or self.is_full or self.is_empty:
            return False
        self._raw.writelines(self.engine.encrypt(self._unsent.pieces(STEP_BYTES)))
        return not (self.is_full or self.is_empty)

    def send_output_of(self, engine: TlsEngine) -> bool:
        """Write what TLS itself has to say: handshake, answers to key updates. Whether there was any."""
        output = engine.take_output()
        if output:
            self._raw.write(output)
        return bool(output)

    def tell(self, protocol: asyncio.BaseProtocol) -> None:
        """Tell the protocol when bytes are left over, and when none are any more."""
        is_backlogged = self.is_full or not self.is_empty
        if is_backlogged != self._is_told:
            self._is_told = is_backlogged
            if is_backlogged:
                protocol.pause_writing()
            else:
                protocol.resume_writing()

    def clear(self) -> None:
        self._unsent.clear()
