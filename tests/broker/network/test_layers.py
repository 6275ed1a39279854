"""A layer between the socket and a connection, as TLS needs it: all bytes pass it, and files are not sent past it."""

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest
from pybroker.base.invariant import InvariantError
from pybroker.broker.network.endpoint_security import UNPROTECTED, EndpointSecurity
from pybroker.broker.network.region_sender import CopyingSender, SendfileSender, sender_for
from pybroker.broker.network.transport import Transport
from support.in_process.network_peer import frame, serving

MASK = 0x5A


def masked(data: bytes | bytearray | memoryview) -> bytes:
    return bytes(byte ^ MASK for byte in data)


class MaskingLayer(asyncio.BufferedProtocol):
    """Encrypts badly: each byte is masked. It is the transport of its connection and the protocol of the loop's."""

    can_send_files = False

    def __init__(self, connection: asyncio.BufferedProtocol) -> None:
        self._connection = connection
        self._lower: Any = None
        self._buffer = bytearray(64)
        for name in ("eof_received", "pause_writing", "resume_writing", "connection_lost"):
            setattr(self, name, getattr(connection, name))

    def connection_made(self, transport: Transport) -> None:
        self._lower = transport
        self._connection.connection_made(self)

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        left = masked(self._buffer[:nbytes])
        while left:
            buffer = self._connection.get_buffer(-1)
            count = min(len(buffer), len(left))
            buffer[:count] = left[:count]
            del buffer
            left = left[count:]
            self._connection.buffer_updated(count)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self._lower.write(masked(data))

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None:
        self._lower.write(masked(b"".join(list_of_data)))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._lower, name)


async def test_all_bytes_of_a_connection_pass_the_layer_of_its_listener() -> None:
    security = EndpointSecurity(add_layer=MaskingLayer)
    async with serving(security_protocol="SSL", security=security) as server:
        peer = await server.connect()
        peer.writer.write(masked(frame(3, 7)))
        size = int.from_bytes(masked(await peer.reader.readexactly(4)), "big")
        answer = masked(await peer.reader.readexactly(size))
        assert int.from_bytes(answer[:4], "big") == 7


class PlainTransport:
    """A transport of the event loop: it does not say whether files may be sent."""


class LayerWithoutFiles(PlainTransport):
    can_send_files = False


@pytest.mark.parametrize(
    ("protocol", "transport", "sender"),
    [
        ("PLAINTEXT", PlainTransport(), SendfileSender),
        ("PLAINTEXT", LayerWithoutFiles(), CopyingSender),
        ("SSL", PlainTransport(), CopyingSender),
        ("SASL_SSL", LayerWithoutFiles(), CopyingSender),
    ],
)
async def test_files_are_sent_past_the_transport_only_if_listener_and_transport_allow_it(
    protocol: str, transport: Any, sender: type[object]
) -> None:
    new = sender_for(protocol, SendfileSender)
    assert type(new(transport, asyncio.get_running_loop(), lambda work: asyncio.sleep(0), lambda: False)) is sender


@pytest.mark.parametrize(
    ("protocol", "security"),
    [
        ("SSL", UNPROTECTED),
        ("SASL_SSL", UNPROTECTED),
        ("PLAINTEXT", EndpointSecurity(add_layer=lambda connection: connection)),
    ],
)
async def test_a_listener_whose_protection_does_not_fit_its_protocol_is_not_opened(
    protocol: str, security: EndpointSecurity
) -> None:
    with pytest.raises(InvariantError):
        async with serving(security_protocol=protocol, security=security):
            pass
