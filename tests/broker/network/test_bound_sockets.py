"""Tests of the addresses that listeners bind, over real sockets."""

import asyncio
import socket

import pytest
from pybroker.broker.network import bound_sockets
from pybroker.broker.network.bound_sockets import AddressInUseError, BindError
from pybroker.broker.network.endpoint_security import EndpointSecurity
from pybroker.broker.network.settings import Endpoint, NetworkSettings
from support.in_process.listener_maker import ListenerMaker
from support.in_process.network_peer import ECHO, Peer, frame, serving


def has_ipv6() -> bool:
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


@needs_ipv6
@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "", "::", "0:0:0:0:0:0:0:0", "0.0.0.0"])
async def test_localhost_and_every_any_address_listen_on_ipv4_and_ipv6(host: str) -> None:
    async with serving(host=host) as server:
        for address in ("127.0.0.1", "::1"):
            peer = await server.connect(address)
            peer.send(frame(ECHO, 1))
            assert await peer.answers(1) == [1]
            assert server.handler.requests[-1].connection.peer_host == address
            assert server.handler.requests[-1].connection.local_host == address


@needs_ipv6
async def test_listener_on_an_ipv6_address_is_not_reached_by_ipv4() -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # reserves the port without listening, so that no other socket listens there
        async with serving(host="::1", port=nobody.getsockname()[1]) as server:
            peer = await server.connect("::1")
            peer.send(frame(ECHO, 1))
            assert await peer.answers(1) == [1]
            with pytest.raises(ConnectionRefusedError):
                await server.connect("127.0.0.1")


@needs_ipv6
@pytest.mark.parametrize(("first", "second"), [("0.0.0.0", "::"), ("::", "0.0.0.0"), ("127.0.0.1", "::")])
async def test_any_address_of_one_family_takes_the_port_of_the_other(
    first: str, second: str, new_listeners: ListenerMaker
) -> None:
    """Kafka does not start either."""
    (taken,) = await new_listeners().open([Endpoint("A", first, 0)])
    with pytest.raises(BindError, match=r"Listener B cannot listen on .*: .* in use"):
        await new_listeners().open([Endpoint("B", second, taken.port)])


@needs_ipv6
async def test_two_listeners_of_one_broker_cannot_share_a_port_by_any_addresses(new_listeners: ListenerMaker) -> None:
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        port = reserved.getsockname()[1]
    with pytest.raises(BindError, match=r"Listener B cannot listen on .*: .* in use"):
        await new_listeners().open([Endpoint("A", "0.0.0.0", port), Endpoint("B", "::", port)])


async def test_opened_endpoints_name_the_port_that_the_system_chose(new_listeners: ListenerMaker) -> None:
    listeners = new_listeners()
    with_layer = EndpointSecurity(add_layer=lambda connection, _authenticated: connection)
    asked = [Endpoint("A", "localhost", 0), Endpoint("B", "127.0.0.1", 0, "SSL", with_layer)]
    opened = await listeners.open(asked)
    assert [endpoint.listener_name for endpoint in opened] == ["A", "B"]
    assert opened[1].security_protocol == "SSL"
    assert len({endpoint.port for endpoint in opened} - {0}) == 2


async def test_port_in_use_raises_an_error_that_names_listener_host_and_port(new_listeners: ListenerMaker) -> None:
    first, second = new_listeners(), new_listeners()
    (taken,) = await first.open([Endpoint("A", "127.0.0.1", 0)])
    with pytest.raises(AddressInUseError) as caught:
        await second.open([Endpoint("FREE", "127.0.0.1", 0), Endpoint("B", "127.0.0.1", taken.port)])
    assert (caught.value.host, caught.value.port) == ("127.0.0.1", taken.port)
    assert str(caught.value).startswith(f"Listener B cannot listen on 127.0.0.1:{taken.port}: the address is in use")


async def test_failed_open_leaves_no_port_listening(new_listeners: ListenerMaker) -> None:
    first, second = new_listeners(), new_listeners()
    (taken,) = await first.open([Endpoint("A", "127.0.0.1", 0)])
    with socket.create_server(("127.0.0.1", 0)) as reserved:
        free_port = reserved.getsockname()[1]
    with pytest.raises(AddressInUseError):
        await second.open([Endpoint("B", "127.0.0.1", free_port), Endpoint("C", "127.0.0.1", taken.port)])
    await asyncio.sleep(0)
    with pytest.raises(ConnectionRefusedError):
        await Peer.connect(Endpoint("B", "127.0.0.1", free_port))


@needs_ipv6
async def test_port_taken_on_ipv6_only_counts_as_in_use_for_localhost(new_listeners: ListenerMaker) -> None:
    listeners = new_listeners()
    with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as other:
        other.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        other.bind(("::1", 0))
        other.listen()
        with pytest.raises(AddressInUseError):
            await listeners.open([Endpoint("A", "localhost", other.getsockname()[1])])


@pytest.mark.parametrize(("host", "words"), [("203.0.113.1", "no such address"), ("no-such-host.invalid", "unknown")])
async def test_foreign_address_or_unknown_host_raises_a_bind_error_that_says_so(
    host: str, words: str, new_listeners: ListenerMaker
) -> None:
    listeners = new_listeners()
    with pytest.raises(BindError, match=f"Listener A .*{words}"):
        await listeners.open([Endpoint("A", host, 0)])


async def test_host_without_any_local_address_raises_a_bind_error(
    monkeypatch: pytest.MonkeyPatch, new_listeners: ListenerMaker
) -> None:
    monkeypatch.setitem(bound_sockets._BOTH_FAMILIES, "localhost", ("203.0.113.1", "198.51.100.1"))
    listeners = new_listeners()
    with pytest.raises(BindError, match="no such address"):
        await listeners.open([Endpoint("A", "localhost", 0)])


async def test_host_with_one_local_address_is_listened_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(bound_sockets._BOTH_FAMILIES, "localhost", ("203.0.113.1", "127.0.0.1"))
    async with serving(host="localhost") as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1))
        assert await peer.answers(1) == [1]


async def test_accepted_sockets_have_the_configured_buffers_and_tcp_nodelay() -> None:
    settings = NetworkSettings(send_buffer_bytes=32 * 1024, receive_buffer_bytes=48 * 1024)
    async with serving(settings) as server:
        peer = await server.connect()
        peer.send(frame(ECHO, 1))
        await peer.answer()
        sock = server.listeners.connections()[0]._transport.get_extra_info("socket")
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) in (32 * 1024, 64 * 1024)  # Linux doubles
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF) in (48 * 1024, 96 * 1024)
        assert sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
