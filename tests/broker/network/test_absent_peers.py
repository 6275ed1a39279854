"""Peers that hung up while nobody reads from them are found, by one timer."""

import asyncio
import socket
from collections.abc import Callable
from typing import cast

import pytest
from pybroker.broker.network.absent_peers import ASKED_AT_ONCE, CHECK_INTERVAL_S, PAUSE_S, AbsentPeers, has_hung_up
from support.virtual_timers import VirtualTimers


class Peer:
    def __init__(self) -> None:
        self.peer_has_hung_up = False
        self.is_aborted = False

    def abort(self) -> None:
        self.is_aborted = True


class ClosingPeer(Peer):
    """As a connection is: when it is aborted it is not read any more."""

    def __init__(self, absent: AbsentPeers) -> None:
        super().__init__()
        self.peer_has_hung_up = True
        self._absent = absent

    def abort(self) -> None:
        super().abort()
        self._absent.watch(self)


class World:
    def __init__(self) -> None:
        self.timers = VirtualTimers()
        self.absent = AbsentPeers(self.call_later)

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return cast("asyncio.TimerHandle", self.timers.call_at(self.timers.time() + delay_s, callback))

    def check(self) -> None:
        self.timers.advance(CHECK_INTERVAL_S * 1000)


def test_one_that_has_hung_up_is_aborted_once_and_the_others_are_not() -> None:
    world = World()
    there, gone = Peer(), Peer()
    world.absent.watch(there)
    world.absent.watch(gone)
    assert world.timers.pending == 1
    world.check()
    assert not gone.is_aborted
    gone.peer_has_hung_up = True
    world.check()
    assert (there.is_aborted, gone.is_aborted) == (False, True)
    gone.is_aborted = False
    world.check()
    assert not gone.is_aborted  # nobody asks again


def test_one_that_is_read_again_is_not_asked() -> None:
    world = World()
    peer = Peer()
    world.absent.watch(peer)
    world.absent.forget(peer)
    peer.peer_has_hung_up = True
    world.check()
    assert not peer.is_aborted
    assert world.timers.pending == 0  # nothing left to look after
    world.absent.watch(peer)
    world.check()
    assert peer.is_aborted


def test_there_is_one_timer_however_many_hang_up() -> None:
    """Who closes is not read either, so that one that is aborted is watched again until it is gone. Each of them once
    left a timer for ever: after an hour of such peers, the loop did nothing else but ask for them."""
    world = World()
    for _ in range(20):
        closing = ClosingPeer(world.absent)
        world.absent.watch(closing)
        world.check()
        assert closing.is_aborted
        assert world.timers.pending == 1
        world.absent.forget(closing)


def test_of_very_many_some_are_asked_at_a_time_and_all_by_and_by() -> None:
    world = World()
    peers = [Peer() for _ in range(10 * ASKED_AT_ONCE)]
    for peer in peers:
        world.absent.watch(peer)
    for peer in peers:
        peer.peer_has_hung_up = True
    world.check()
    for turn in range(1, 11):
        assert sum(peer.is_aborted for peer in peers) == turn * ASKED_AT_ONCE
        assert world.timers.pending == (turn < 10)
        world.timers.advance(PAUSE_S * 1000)


def test_when_it_is_closed_no_timer_is_left() -> None:
    world = World()
    world.absent.watch(Peer())
    world.absent.close()
    assert world.timers.pending == 0


class Transport:
    def __init__(self, connection: socket.socket | None) -> None:
        self._connection = connection

    def get_extra_info(self, name: str) -> socket.socket | None:
        return self._connection


def hung_up(connection: socket.socket | None) -> bool:
    return has_hung_up(cast("asyncio.Transport", Transport(connection)))


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
        client.sendall(b"unread")
        assert not hung_up(accepted)
        client.close()
        while not hung_up(accepted):
            pass
    assert not hung_up(accepted)  # a socket of ours that is closed says nothing
    assert not hung_up(None)
