"""A layer between the socket and a connection, as TLS needs it: all bytes pass it, and files are not sent past it."""

import asyncio
from typing import Any

import pytest
from pybroker.base.invariant import InvariantError
from pybroker.broker.network.endpoint_security import UNPROTECTED, EndpointSecurity
from pybroker.broker.network.region_sender import CopyingSender, SendfileSender, sender_for
from support.in_process.masking_layer import MaskingLayer, masked
from support.in_process.network_peer import frame, serving


async def test_all_bytes_of_a_connection_pass_the_layer_of_its_listener() -> None:
    security = EndpointSecurity(add_layer=lambda connection, _authenticated: MaskingLayer(connection))
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
        ("SASL_SSL", EndpointSecurity(add_layer=lambda connection, _authenticated: connection)),
        ("SASL_PLAINTEXT", UNPROTECTED),
        ("PLAINTEXT", EndpointSecurity(add_layer=lambda connection, _authenticated: connection)),
    ],
)
async def test_a_listener_whose_protection_does_not_fit_its_protocol_is_not_opened(
    protocol: str, security: EndpointSecurity
) -> None:
    with pytest.raises(InvariantError):
        async with serving(security_protocol=protocol, security=security):
            pass
