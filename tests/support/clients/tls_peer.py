"""A client of a TLS listener on a blocking socket, which can stop at any point of the handshake."""

import socket
import ssl
import struct
from typing import Any

from pybroker.broker.security.tls.buffers import TlsBuffers
from pybroker.broker.security.tls.engine import TlsEngine
from pybroker.protocol.client import SaslLogin, login_requests
from pybroker.protocol.codec import Message
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.clients.wire_frames import WireFrames

__all__ = ["TlsPeer"]

_READ_BYTES = 16 * 1024
_BIND_ADDRESS_NO_PORT = 24
"""IP_BIND_ADDRESS_NO_PORT of Linux: the port is chosen at the connect, so many addresses share all ports."""


class TlsPeer:
    """A TCP connection; the handshake is made by `shake_hands`, or step by step."""

    def __init__(self, port: int, context: ssl.SSLContext, own_host: str = "127.0.0.1") -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.IPPROTO_IP, _BIND_ADDRESS_NO_PORT, 1)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.bind((own_host, 0))
        self.socket.connect(("127.0.0.1", port))
        self._engine = TlsEngine(context, TlsBuffers(), server_side=False, server_hostname="localhost")
        self._frames = WireFrames()
        self._received = bytearray()

    def next_flight(self) -> bytes:
        """The bytes of the handshake that are to be sent now; raises `ssl.SSLError`."""
        self._engine.handshake()
        return self._engine.take_output()

    def rest_of_flight(self) -> bytes:
        """The next bytes of the handshake, once the server has answered everything that was sent so far."""
        while not (flight := self.next_flight()):
            self.receive()
        return flight

    def receive(self) -> None:
        """Raises ConnectionError when the server has closed the connection."""
        data = self.socket.recv(_READ_BYTES)
        if not data:
            raise ConnectionResetError("the server closed the connection")
        self._engine.feed(data)

    def shake_hands(self) -> None:
        """Raises `ssl.SSLError`, ConnectionError."""
        while True:
            self.socket.sendall(self.next_flight())
            if self._engine.is_established:
                return
            self.receive()

    def send_alert(self) -> None:
        """Send the alert of a handshake that has failed here."""
        self.socket.sendall(self._engine.take_output())

    def close_notify(self) -> None:
        self.socket.sendall(self._engine.close_notify())

    def send(self, plaintext: bytes) -> None:
        self.socket.sendall(b"".join(self._engine.encrypt([plaintext])))

    def ask(self, request: Message, version: int) -> Any:
        self.send(self._frames.request(request, version))
        (size,) = struct.unpack(">i", self._read(4))
        return self._frames.answer(request, version, self._read(size))

    def log_in(self, login: SaslLogin) -> None:
        """Raises KafkaError when the broker refuses the login."""
        requests = login_requests(login)
        request = next(requests)
        while True:
            response = self.ask(request, 1 if isinstance(request, SaslHandshakeRequest) else 2)
            try:
                request = requests.send(response)
            except StopIteration:
                return

    def wait_for_end(self) -> None:
        """Wait until the server closes the connection; ignores what it sends before."""
        try:
            while self.socket.recv(_READ_BYTES):
                pass
        except ConnectionError:
            pass

    def reset(self) -> None:
        """Close so that the server sees a reset."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def close(self) -> None:
        self.socket.close()

    def _read(self, size: int) -> bytes:
        buffer = bytearray(_READ_BYTES)
        while len(self._received) < size:
            count = self._engine.read_into(buffer)
            if count:
                self._received += buffer[:count]
            else:
                self.receive()
        data = bytes(self._received[:size])
        del self._received[:size]
        return data
