"""Tests that frames in many tiny pieces cost few read events, and that ordinary clients are never delayed."""

import struct

import pytest
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.frame_reader import FREE_TINY_READS
from pybroker.broker.network.request import Reply, Request
from pybroker.broker.network.settings import NetworkSettings
from support.in_process.network_peer import ECHO, frame
from support.time.virtual_network import VirtualNetwork, VirtualPeer


def echo(request: Request) -> Reply:
    return [struct.pack(">i", request.correlation_id)]


@pytest.fixture
def network() -> VirtualNetwork:
    return VirtualNetwork(NetworkSettings(max_idle_ms=-1), echo)


def send_in_pieces(peer: VirtualPeer, data: bytes, size: int, every_ms: float = 1) -> int:
    """Send ``data`` in pieces; return the number of read events until its response."""
    before, answers = peer.read_events, len(peer.answered)
    for start in range(0, len(data), size):
        peer.send(data[start : start + size])
        if peer.is_readable:
            peer.deliver(65_536)
        peer.network.loop.advance(every_ms)
    while len(peer.answered) == answers:
        peer.network.loop.next_timer()
        if peer.is_readable:
            peer.deliver(65_536)
    return peer.read_events - before


def test_single_bytes_are_collected_and_read_together(network: VirtualNetwork) -> None:
    peer = network.connect()
    assert send_in_pieces(peer, frame(ECHO, 1, bytes(200)), 1) <= FREE_TINY_READS + 8
    for number in range(20):
        assert send_in_pieces(peer, frame(ECHO, 2 + number, bytes(200)), 1) <= 5
    assert peer.answered == list(range(1, 22))


def test_single_bytes_of_pipelined_frames_are_collected_too(network: VirtualNetwork) -> None:
    peer = network.connect()
    for _ in range(50):
        peer.send(frame(ECHO, 1, bytes(20)))
    data = bytes(peer.unsent)
    peer.unsent.clear()
    assert send_in_pieces(peer, data, 1) < 50 * 3.5  # read events for each frame of 38 bytes
    while peer.is_readable or network.loop.pending:
        network.loop.next_timer() if network.loop.pending else peer.deliver(65_536)
    assert len(peer.answered) == 50


@pytest.mark.parametrize("pieces", [2, 3, FREE_TINY_READS])
def test_frame_in_a_few_pieces_is_read_without_delay(network: VirtualNetwork, pieces: int) -> None:
    peer = network.connect()
    for number in range(100):
        data = frame(ECHO, number, bytes(100 * pieces))
        first, rest = data[:4], data[4:]  # the size alone, as some clients send it
        step = -(-len(rest) // (pieces - 1))
        for piece in (first, *(rest[at : at + step] for at in range(0, len(rest), step))):
            peer.send(piece)
            assert peer.is_readable
            peer.deliver(65_536)
        assert peer.answered[-1] == number


def test_long_frame_in_tcp_segments_is_read_without_delay(network: VirtualNetwork) -> None:
    peer = network.connect()
    data = frame(ECHO, 1, bytes(500_000))
    for at in range(0, len(data), 1448):
        peer.send(data[at : at + 1448])
        assert peer.is_readable
        peer.deliver(65_536)
    assert peer.answered == [1]


@pytest.mark.parametrize("are_whole", [True, False])
def test_connection_that_stops_tiny_writes_is_soon_read_without_delay_again(
    network: VirtualNetwork, are_whole: bool
) -> None:
    peer = network.connect()
    send_in_pieces(peer, frame(ECHO, 1, bytes(200)), 1)
    for number in range(8):
        data = frame(ECHO, 2 + number)
        send_in_pieces(peer, data, len(data) if are_whole else len(data) - 4)
    data = frame(ECHO, 99)
    for piece in (data[:4], data[4:]):
        peer.send(piece)
        assert peer.is_readable
        peer.deliver(65_536)
    assert peer.answered[-1] == 99


def test_closed_connection_leaves_no_tiny_read_timer(network: VirtualNetwork) -> None:
    peers = [network.connect() for _ in range(3)]
    for peer in peers:
        for byte in frame(ECHO, 1)[: FREE_TINY_READS + 1]:
            peer.send(bytes([byte]))
            peer.deliver(1)
        assert peer.connection.read_pause == ReadPause.THROTTLED
    assert network.loop.pending == 3
    for peer in peers:
        peer.hang_up()
    assert network.loop.pending == 0
