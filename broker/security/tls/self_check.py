"""Tries a handshake in memory, before a broker opens a listener through which other brokers connect.

Kafka does the same (``SslEngineValidator``). It finds most mistakes in stores with a clear line: a key store whose
certificate the trust store does not verify, an expired certificate, versions or suites that do not meet.
"""

import ssl

from .buffers import TlsBuffers
from .engine import TlsEngine
from .failures import TlsFailure, failure_of

__all__ = ["failed_handshake"]

_ROUNDS = 10


def failed_handshake(server: ssl.SSLContext, client: ssl.SSLContext) -> TlsFailure | None:
    """Why a client with the one context cannot connect to a server with the other; None if it can.

    ``client.check_hostname`` must be off: the certificate's names are not checked, because clients know them.
    """
    buffers = TlsBuffers()
    near = TlsEngine(client, buffers, server_side=False)
    far = TlsEngine(server, buffers, server_side=True)
    try:
        for _ in range(_ROUNDS):
            near.handshake()
            _carry(near, far)
            far.handshake()
            _carry(far, near)
        near.read_into(bytearray(1))  # in TLS 1.3 a server refuses a client's certificate after the handshake
    except ssl.SSLError as error:
        return failure_of(error)
    assert near.is_established, "the handshake did not end"
    assert far.is_established, "the handshake did not end"
    return None


def _carry(source: TlsEngine, target: TlsEngine) -> None:
    target.feed(source.take_output())
