"""Tests that memory accounts are bounded whatever clients send, and empty when their connections are closed."""

import random
import struct

from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.network.admission.memory import (
    DECODED_BYTES_PER_BYTE,
    EXEMPTION_S,
    STALLED_S,
    DecodedMemory,
    FrameMemory,
    ResponseMemory,
)
from pybroker.broker.network.frame_reader import FIRST_ALLOCATION
from pybroker.broker.network.offender_log import Violation
from pybroker.broker.network.request import LaterReply, Reply, ReplyPart, Request
from pybroker.broker.network.settings import NetworkSettings
from support.examples import examples
from support.in_process.fake_connection import FakeConnection
from support.in_process.network_peer import ECHO, PRODUCE, frame
from support.time.virtual_network import VirtualNetwork
from support.time.virtual_timers import VirtualTimers

LARGEST = 300_000
MIB = 1024 * 1024


class Frames(FakeConnection):
    """A connection with a partial frame."""

    def __init__(self, world: "World", held_bytes: int, name: str = "") -> None:
        super().__init__(name, world.closed)
        self.world, self.held_bytes = world, held_bytes
        self.partial_bytes = held_bytes
        self.waits_for_memory_only = True
        self.may_read_now = True
        world.memory.add(held_bytes)
        world.users.append(self)

    def reads(self) -> bool:
        self.may_read_now = self.world.memory.may_read(self)
        return self.may_read_now

    def memory_is_free(self) -> None:
        self.may_read_now = True

    def close_for(self, violation: Violation, reason: str) -> None:
        super().close_for(violation, reason)
        self.ends()

    def ends(self) -> None:
        self.world.users.remove(self)
        self.world.memory.add(-self.held_bytes)
        self.world.memory.forget(self)


class World:
    def __init__(self, max_bytes: int = 1000, max_requests: int = 10) -> None:
        self.timers = VirtualTimers()
        self.users: list[Frames] = []
        self.closed: list[str] = []
        timers = self.timers
        self.memory = FrameMemory(
            max_bytes, max_requests, timers.call_later, timers.call_soon, timers.time, lambda: list(self.users)
        )


def test_only_one_connection_is_read_while_memory_is_over_its_limit() -> None:
    world = World()
    first, second, third = (Frames(world, 400) for _ in range(3))
    assert [first.reads(), second.reads(), third.reads()] == [True, False, False]
    first.ends()
    world.timers.turn()
    assert [second.may_read_now, third.may_read_now] == [True, False]
    second.ends()
    world.timers.turn()
    assert third.may_read_now


def test_reads_into_memory_that_is_counted_already_are_allowed_over_the_limit() -> None:
    world = World()
    first, second = Frames(world, 600), Frames(world, 600)
    second.reads_without_memory = True
    assert first.reads()
    assert second.reads()


def test_connection_that_cannot_use_its_exemption_passes_it_to_the_next_one() -> None:
    world = World()
    first, second = Frames(world, 600), Frames(world, 600)
    assert first.reads()
    assert not second.reads()
    first.waits_for_memory_only = False
    world.memory.end_exemption(first)
    assert second.may_read_now


def test_connection_waits_over_the_limit_of_requests_until_one_ends() -> None:
    world = World(max_requests=1)
    user = Frames(world, 10)
    user.waits_for_memory_only = False
    world.memory.add(10, 2)
    assert not user.reads()
    world.memory.add(-10, -1)
    world.timers.turn()
    assert user.may_read_now


def test_longest_stalled_connections_are_closed_until_a_quarter_of_the_memory_is_free() -> None:
    world = World(max_bytes=1000)
    moving = Frames(world, 100, "moving")
    stalled = [Frames(world, 300, name) for name in "abc"]
    for user in world.users:
        user.reads_without_memory = True
    late = Frames(world, 200, "late")
    late.reads_without_memory = True
    assert moving.reads()
    for _ in range(int(STALLED_S) + 1):
        world.timers.advance(1000)
        moving.partial_bytes += 16 * 1024
        if world.timers.time() < 3:
            late.partial_bytes += 16 * 1024
    assert world.closed == ["a", "b"]
    assert stalled[2] in world.users


def test_connection_that_may_exceed_the_limit_is_closed_when_it_is_too_slow() -> None:
    world = World(max_bytes=100)
    slow, other = Frames(world, 80, "slow"), Frames(world, 80, "other")
    assert slow.reads()
    assert not other.reads()
    for _ in range(int(EXEMPTION_S) + 1):
        world.timers.advance(1000)
        slow.partial_bytes += 50_000
    assert world.closed == ["slow"]
    assert other.may_read_now


def test_connections_blocked_longest_are_closed_over_the_limit_of_responses() -> None:
    memory = ResponseMemory(100)
    closed: list[str] = []
    first, second, third = (FakeConnection(name, closed) for name in "abc")
    memory.hold(first, 40)
    memory.hold(second, 40)
    memory.moved(first)
    memory.hold(third, 40)
    assert closed == ["b"]
    memory.hold(first, 10)
    memory.hold(third, 0)
    assert memory.used_bytes == 10
    memory.hold(first, 200)
    assert (closed, memory.used_bytes) == (["b", "a"], 0)


def test_large_request_counts_as_the_whole_account() -> None:
    memory = DecodedMemory("administration", 100 * DECODED_BYTES_PER_BYTE)
    small = memory.take(10)  # counts as a request of 256 bytes, which is more than the account holds
    assert small == memory.used_bytes == memory.max_bytes
    assert memory.is_over
    assert memory.has_space_for_one_more()
    large = memory.take(1000)
    assert memory.used_bytes == 2 * memory.max_bytes
    memory.give_back(small)
    memory.give_back(large)
    assert memory.used_bytes == 0
    assert not memory.is_over


REQUEST = st.tuples(st.sampled_from((ECHO, PRODUCE)), st.integers(0, LARGEST))
ACTION = st.tuples(st.sampled_from(("deliver", "answer", "turn", "second", "hang up")), st.integers(0, 1 << 30))


@settings(max_examples=examples(150), deadline=None)
@given(
    requests=st.lists(st.lists(REQUEST, min_size=1, max_size=6), min_size=1, max_size=8),
    reads=st.lists(st.booleans(), min_size=8, max_size=8),
    actions=st.lists(ACTION, max_size=200),
    max_bytes=st.sampled_from((1, 50_000, 400_000)),
)
def test_memory_never_exceeds_its_bound_by_more_than_a_frame_for_each_connection(
    requests: list[list[tuple[int, int]]], reads: list[bool], actions: list[tuple[str, int]], max_bytes: int
) -> None:
    unanswered: list[LaterReply] = []

    def handle(request: Request) -> Reply:
        answer: list[ReplyPart] = [struct.pack(">i", request.correlation_id), bytes(len(request.frame))]
        if request.api_key != PRODUCE:
            return answer
        future = network.loop.create_future()
        reply = LaterReply(future, lambda: [answer[0]])
        unanswered.append(reply)
        return reply

    limits = NetworkSettings(max_queued_bytes=max_bytes, max_unsent_bytes=max_bytes, max_idle_ms=-1)
    network = VirtualNetwork(limits, handle)
    memory = network.resources.memory
    peers = []
    for number, each in enumerate(requests):
        peer = network.connect()
        peer.reads_answers = reads[number]
        for api_key, size in each:
            peer.send(frame(api_key, 1, bytes(size)))
        peers.append(peer)
    dice = random.Random(1)
    for action, number in actions:
        peer = peers[number % len(peers)]
        if action == "deliver" and peer.is_readable:
            peer.deliver(1 + number % MIB)
        elif action == "answer" and unanswered:
            future = unanswered.pop(dice.randrange(len(unanswered))).future
            future.set_result(None)
        elif action == "turn":
            network.loop.turn()
        elif action == "second":
            network.loop.advance(1000)
        elif action == "hang up" and not number % 7:
            peer.hang_up()
        open_peers = [each for each in peers if not each.is_closed]
        # Each connection: a frame in work, a frame arriving in a buffer that has just doubled, and a read.
        of_each = LARGEST + max(2 * LARGEST, FIRST_ALLOCATION) + 64 * 1024
        assert memory.frames.used_bytes <= max_bytes + len(peers) * of_each
        assert memory.responses.used_bytes <= max_bytes
        held = sum(each.connection._memory.frame_bytes for each in open_peers)
        assert held <= memory.frames.used_bytes
    while unanswered:  # a response may let the next request start
        unanswered.pop().future.set_result(None)
        network.loop.advance(1000)
    for peer in peers:
        peer.hang_up()
    network.loop.advance(60_000)
    accounts = (memory.frames, memory.responses, memory.decoded, memory.administration)
    assert [account.used_bytes for account in accounts] == [0] * 4
    assert memory.frames.requests == 0
    assert network.resources.gate.queue.waiting_count == 0
