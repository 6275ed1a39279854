"""Peers that hung up while nobody reads from them are found, by one timer."""

import asyncio
import socket
import struct
from collections.abc import Callable, Iterable
from typing import cast

import pytest
from pybroker.broker.network.absent_peers import ASKED_AT_ONCE, CHECK_INTERVAL_S, PAUSE_S, AbsentPeers, hung_up
from support.virtual_timers import VirtualTimers


class Peer:
    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


class World:
    def __init__(self) -> None:
        self.timers = VirtualTimers()
        self.gone: set[int] = set()
        self.absent = AbsentPeers(self.call_later, self.hung_up_of)
        self._count = 0

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return cast("asyncio.TimerHandle", self.timers.call_at(self.timers.time() + delay_s, callback))

    def hung_up_of(self, descriptors: Iterable[int]) -> set[int]:
        return self.gone.intersection(descriptors)

    def check(self) -> None:
        self.timers.advance(CHECK_INTERVAL_S * 1000)

    def peer(self) -> Peer:
        self._count += 1
        peer = Peer(self._count)
        self.absent.watch(peer)
        return peer

    def hangs_up(self, peer: Peer) -> None:
        self.gone.add(peer.descriptor)


def test_one_that_has_hung_up_is_aborted_once_and_the_others_are_not() -> None:
    world = World()
    there, gone = world.peer(), world.peer()
    assert world.timers.pending == 1
    world.check()
    assert not gone.is_aborted
    world.hangs_up(gone)
    world.check()
    assert (there.is_aborted, gone.is_aborted) == (False, True)
    gone.is_aborted = False
    world.check()
    assert not gone.is_aborted  # nobody asks again


def test_one_that_is_read_again_is_not_asked_for() -> None:
    world = World()
    peer = world.peer()
    world.absent.forget(peer)
    world.hangs_up(peer)
    world.check()
    assert not peer.is_aborted
    assert world.timers.pending == 0  # nothing left to look after
    world.absent.watch(peer)
    world.check()
    assert peer.is_aborted


def test_there_is_one_timer_however_many_hang_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is aborted is not read either, and so is watched again until it is gone. Each of them once left a timer
    for ever: after some hundreds of such peers the loop did nothing else but ask for them."""
    world = World()
    monkeypatch.setattr(Peer, "abort", lambda peer: world.absent.watch(peer))
    for _ in range(20):
        peer = world.peer()
        world.hangs_up(peer)
        world.check()
        assert world.timers.pending == 1
        world.absent.forget(peer)


def test_of_very_many_some_are_asked_for_at_a_time_and_all_by_and_by() -> None:
    world = World()
    peers = [world.peer() for _ in range(10 * ASKED_AT_ONCE)]
    for peer in peers:
        world.hangs_up(peer)
    world.check()
    for turn in range(1, 11):
        assert sum(peer.is_aborted for peer in peers) == turn * ASKED_AT_ONCE
        assert world.timers.pending == (turn < 10)
        world.timers.advance(PAUSE_S * 1000)


def test_when_it_is_closed_no_timer_is_left() -> None:
    world = World()
    world.peer()
    world.absent.close()
    assert world.timers.pending == 0


@pytest.fixture
def pair() -> "tuple[socket.socket, socket.socket]":
    with socket.create_server(("127.0.0.1", 0)) as server:
        client = socket.create_connection(server.getsockname())
        return client, server.accept()[0]


def test_the_system_knows_who_hung_up_also_behind_bytes_that_nobody_read(
    pair: "tuple[socket.socket, socket.socket]",
) -> None:
    client, accepted = pair
    with accepted:
        ours = accepted.fileno()
        client.sendall(b"unread")
        assert not hung_up([ours])
        client.close()
        while not hung_up([ours]):
            pass
        assert hung_up([-1, ours]) == {ours}
    assert not hung_up([ours])  # a socket of ours that is closed says nothing


def test_a_reset_is_the_end_too(pair: "tuple[socket.socket, socket.socket]") -> None:
    client, accepted = pair
    with accepted:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        while not hung_up([accepted.fileno()]):
            pass
