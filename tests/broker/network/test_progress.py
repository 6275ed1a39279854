"""Tests that every complete frame is handled in the end, whatever the limits, sizes and orders, if handlers answer.

How: time is virtual. The network layer has a deadlock or livelock if frames are left while no connection can be read
and no timer is set, or if a run takes too many steps.
"""

import random
import struct
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.network.admission.fair_queue import DEBT_FACTOR
from pybroker.broker.network.admission.gate import LARGE_BYTES
from pybroker.broker.network.admission.memory import DECODED_BYTES_PER_BYTE
from pybroker.broker.network.admission.read_pause import ReadPause
from pybroker.broker.network.frame_reader import FIRST_READ, LONG_READ, MOST_FRAMES
from pybroker.broker.network.request import LaterReply, Reply, ReplyPart, Request
from pybroker.broker.network.settings import NetworkSettings
from support.examples import examples
from support.in_process.network_peer import ECHO, PRODUCE, VERSIONS, frame
from support.time.virtual_network import VirtualNetwork, VirtualPeer

FETCH = 1
COMMIT = 8
THROTTLED = 9
SLOW = 10
SLOW_READER_S = 30.0
MOST_STEPS = 30_000
"""A run has some hundred frames; a run with more steps makes no progress."""


@dataclass
class World:
    """Peers that send complete frames and read all responses sooner or later."""

    limits: NetworkSettings
    seed: int = 0
    handler_s: float = 0.05
    answer_s: float = 0.3
    peers: list[VirtualPeer] = field(default_factory=list)
    handled: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.dice = random.Random(self.seed)
        self.network = VirtualNetwork(self.limits, self.handle)
        self.loop = self.network.loop
        self.sent: list[list[int]] = []

    def handle(self, request: Request) -> Reply:
        self.handled.append(request.correlation_id)
        answer = [struct.pack(">i", request.correlation_id)]
        if request.api_key in (PRODUCE, FETCH, COMMIT):
            future = self.loop.create_future()
            self.loop.call_later(self.dice.random() * self.answer_s, future.set_result, answer)
            return LaterReply(future, future.result)
        if request.api_key == THROTTLED:
            request.connection.throttle(self.dice.random())
        if len(request.frame) > LARGE_BYTES or request.api_key == SLOW:
            self.loop.take(self.handler_s)
        return [*answer, bytes(len(request.frame))]

    def peer(self, requests: list[tuple[int, int]], *, reads_answers: bool = True) -> VirtualPeer:
        """Return a peer that sends requests, each given by API key and size in bytes."""
        peer = self.network.connect()
        peer.reads_answers = reads_answers
        first = 1000 * len(self.peers)
        self.sent.append([first + number for number in range(len(requests))])
        for number, (api_key, size) in enumerate(requests):
            peer.send(frame(api_key, first + number, bytes(size)))
        self.peers.append(peer)
        if not reads_answers:
            self.loop.call_later(self.dice.random() * SLOW_READER_S, peer.read_answers)
        return peer

    def answered_later(self, answer: list[ReplyPart]) -> LaterReply:
        """Return a reply that is ready in the next iteration of the loop."""
        future = self.loop.create_future()
        future.set_result(answer)
        return LaterReply(future, future.result)

    def is_done(self) -> bool:
        return all(peer.answered == sent for peer, sent in zip(self.peers, self.sent, strict=True))

    def read_all(self, peer: VirtualPeer) -> None:
        """Deliver what the peer has sent while its connection is read; run the loop while it is queued."""
        while peer.is_readable:
            peer.deliver(65_536)
            if peer.connection.read_pause is ReadPause.QUEUED:
                self.loop.turn()

    def ask(self, peer: VirtualPeer, api_key: int, number: int) -> None:
        """Send a small request, and deliver it if the connection is read."""
        peer.send(frame(api_key, number, bytes(10)))
        self.read_all(peer)

    def run(self) -> None:
        """Run until all requests are answered; fail when nothing can progress."""
        for _ in range(MOST_STEPS):
            self.loop.turn()
            readable = [peer for peer in self.peers if peer.is_readable]
            if readable:
                self.dice.choice(readable).deliver(self.dice.choice((4096, 65_536, 1 << 20)))
            elif self.loop.pending and not self.is_done():
                self.loop.next_timer()
            else:
                break
        assert self.is_done(), self.state()
        assert self.network.resources.memory.frames.used_bytes == 0
        budget = self.network.resources.memory
        assert [account.used_bytes for account in (budget.responses, budget.decoded, budget.administration)] == [0] * 3
        assert self.network.resources.gate.queue.waiting_count == 0

    def state(self) -> list[str]:
        memory = self.network.resources.memory.frames
        states = [f"{memory.used_bytes} bytes and {memory.requests} requests are counted"]
        for peer, sent in zip(self.peers, self.sent, strict=True):
            held = "closed" if peer.is_closed else repr(peer.connection.read_pause)
            states.append(f"{held}: {len(peer.answered)} of {len(sent)} answered, {len(peer.unsent)} bytes unread")
        return states


REQUEST = st.tuples(
    st.sampled_from((ECHO, PRODUCE, FETCH, COMMIT, THROTTLED, SLOW)),
    st.sampled_from((10, 1000, 5000, 20_000, 70_000, 300_000)),
)
PEER = st.tuples(st.lists(REQUEST, min_size=1, max_size=12), st.booleans())


@settings(max_examples=examples(150), deadline=None)
@given(
    peers=st.lists(PEER, min_size=1, max_size=8),
    max_bytes=st.sampled_from((1, 1000, 30_000, 200_000, 1_000_000)),
    max_requests=st.sampled_from((1, 3, 100)),
    max_parked=st.sampled_from((1, 2, 8)),
    max_decoded_bytes=st.sampled_from((1, 20_000 * DECODED_BYTES_PER_BYTE, 1 << 40)),
    handler_s=st.sampled_from((0.0, 0.0005, 0.02, 3.0)),
    seed=st.integers(0, 1000),
)
def test_every_complete_frame_is_handled_in_the_end(
    peers: list[tuple[list[tuple[int, int]], bool]],
    max_bytes: int,
    max_requests: int,
    max_parked: int,
    max_decoded_bytes: int,
    handler_s: float,
    seed: int,
) -> None:
    limits = NetworkSettings(
        max_queued_bytes=max_bytes,
        max_queued_requests=max_requests,
        max_parked_requests=max_parked,
        max_decoded_bytes=max_decoded_bytes,
        max_idle_ms=-1,
    )
    world = World(limits, seed, handler_s)
    for requests, reads_answers in peers:
        world.peer(requests, reads_answers=reads_answers)
    world.run()


def test_large_queued_frames_are_all_handled_although_they_fill_the_memory() -> None:
    world = World(NetworkSettings(max_queued_bytes=1_000_000))
    for _ in range(30):
        world.peer([(ECHO, 500_000)])
    world.run()
    # The queue starts one frame at a time, and rests for twice its time.
    assert world.loop.time() < 30 * 3 * world.handler_s + 1


def test_small_slow_requests_are_queued_like_large_ones() -> None:
    world = World(NetworkSettings())
    for _ in range(8):
        world.peer([(SLOW, 10)] * 10)
    world.run()
    # After each slow request none starts for twice its time.
    assert world.loop.time() >= 79 * 3 * world.handler_s


def test_connection_in_debt_queues_its_short_requests_but_not_produce_requests() -> None:
    world = World(NetworkSettings(), answer_s=0.0)
    peer = world.network.connect()
    other = world.network.connect()

    world.ask(other, ECHO, 0)
    world.ask(peer, SLOW, 1)
    world.ask(peer, PRODUCE, 2)
    world.ask(other, ECHO, 3)
    world.ask(peer, ECHO, 4)
    assert world.handled == [0, 1, 2, 3]
    world.loop.advance(round(2 * world.handler_s * 1000) + 1)
    world.ask(peer, ECHO, 5)
    assert world.handled == [0, 1, 2, 3, 4, 5]
    world.ask(other, SLOW, 6)
    world.ask(peer, ECHO, 7)
    assert world.handled[-1] == 6, "cheap requests in between do not end the debt"
    world.loop.advance(round(DEBT_FACTOR * world.handler_s * 1000))
    assert world.handled[-1] == 7
    third = world.network.connect()
    world.ask(third, SLOW, 8)
    world.ask(peer, ECHO, 9)
    assert world.handled[-1] == 9


def test_slow_first_requests_of_many_new_connections_get_a_third_of_the_loop_together() -> None:
    world = World(NetworkSettings(), answer_s=0.0)
    resident = world.network.connect()

    world.ask(resident, ECHO, 0)
    for number in range(1, 51):
        world.ask(world.network.connect(), SLOW, number)
    world.ask(resident, ECHO, 51)
    assert world.handled == [0, 1, 51]
    world.ask(world.network.connect(), VERSIONS, 52)
    assert world.handled[-1] == 52
    world.loop.advance(round(2 * world.handler_s * 1000) + 1)
    assert world.handled == [0, 1, 51, 52, 2]
    world.ask(resident, ECHO, 53)
    assert world.handled[-1] == 53


def test_other_connections_are_served_between_parts_of_a_flood_of_requests() -> None:
    world = World(NetworkSettings(), answer_s=0.0)
    flood = world.peer([(ECHO, 0)] * 500 + [(FETCH, 0)] + [(ECHO, 0)] * 400)
    other = world.peer([(ECHO, 0)])
    flood.deliver(65_536)
    assert world.handled == list(range(32))
    other.deliver(65_536)
    assert world.handled[32:] == [1000]
    world.loop.turn()
    assert world.handled[33:] == list(range(32, 64))
    world.run()


def test_each_connection_starts_one_request_of_some_work_in_a_loop_iteration() -> None:
    world = World(NetworkSettings(), answer_s=0.0, handler_s=0.0)
    first, second = (world.peer([(SLOW, 10)]) for _ in range(2))
    world.run()  # now the API is known to be cheap
    world.handled.clear()
    world.handler_s = 0.0005
    for peer, sent in zip((first, second), world.sent, strict=True):
        sent += [sent[0] + number for number in range(1, 4)]
        peer.send(*(frame(SLOW, number, bytes(10)) for number in sent[1:]))
        peer.deliver(65_536)
    assert world.handled == [1, 1001]
    world.loop.turn()
    assert world.handled == [1, 1001, 2, 1002]
    world.run()


@pytest.mark.parametrize("is_later", [False, True])
def test_produce_requests_with_many_partitions_and_no_records_are_queued(is_later: bool) -> None:
    world = World(NetworkSettings(), answer_s=0.0)
    answer_bytes = 1_000_000  # for about thirty thousand partitions

    def handle(request: Request) -> Reply:
        world.handled.append(request.correlation_id)
        answer: list[ReplyPart] = [struct.pack(">i", request.correlation_id), bytes(answer_bytes)]
        return world.answered_later(answer) if is_later else answer

    world.network.resources.gate.handler = handle
    empty = world.peer([(PRODUCE, 200_000)] * 10)
    full = world.peer([(PRODUCE, 1_100_000)] * 10)
    world.run()
    assert (empty.answered, full.answered) == (list(range(10)), list(range(1000, 1010)))
    # Each but the first waited for twice the time of one request, as estimated from the size of its response.
    assert 9 * 2 * 0.15 <= world.loop.time() < 10 * 2 * 0.15 + 0.1


@pytest.mark.parametrize("is_later", [False, True])
def test_produce_requests_are_queued_after_refused_records_until_records_are_accepted(is_later: bool) -> None:
    world = World(NetworkSettings(), answer_s=0.0)

    def handle(request: Request) -> Reply:
        world.handled.append(request.correlation_id)
        request.records_were_refused = request.correlation_id % 1000 < 5
        answer: list[ReplyPart] = [struct.pack(">i", request.correlation_id), b"sorry"]
        return world.answered_later(answer) if is_later else answer

    world.network.resources.gate.handler = handle
    peers = [world.peer([(PRODUCE, 2_000_000)] * 10) for _ in range(2)]
    world.run()
    assert [peer.answered for peer in peers] == [list(range(10)), list(range(1000, 1010))]
    # Ten requests were refused; after nine of them the next one waited for twice the time of the refused one.
    pause_s = 2 * 2_000_000e-9
    assert 9 * pause_s <= world.loop.time() < 10 * pause_s + 0.02


def test_new_connection_is_served_before_connections_whose_records_were_refused() -> None:
    world = World(NetworkSettings(), answer_s=0.0)

    def handle(request: Request) -> Reply:
        world.handled.append(request.correlation_id)
        request.records_were_refused = request.api_key == PRODUCE
        return [struct.pack(">i", request.correlation_id), b"sorry"]

    world.network.resources.gate.handler = handle
    refused = [world.peer([(PRODUCE, 2_000_000)] * 2) for _ in range(20)]
    for peer in refused:
        world.read_all(peer)
    assert sorted(world.handled) == [1000 * number for number in range(20)]
    assert all(peer.connection.read_pause & ReadPause.QUEUED for peer in refused)
    world.ask(world.network.connect(), ECHO, 99)
    world.loop.advance(20 * 4 + 10)  # twice the time they took
    assert 99 in world.handled[20:22]
    world.loop.advance(1000)
    assert len(world.handled) == 2 * 20 + 1


def test_large_frame_behind_an_unread_response_counts_in_the_account_of_responses() -> None:
    world = World(NetworkSettings(max_queued_bytes=100_000), answer_s=0.01)
    world.peer([(ECHO, 500_000)])
    slow = world.peer([(FETCH, 10), (ECHO, 500_000)])
    slow.reads_answers = False
    for peer in world.peers:
        world.read_all(peer)
    world.loop.advance(5000)
    assert len(world.handled) == 2  # its second request is complete and waits until the first response is read
    assert world.network.resources.memory.responses.used_bytes > 500_000
    slow.read_answers()
    world.run()


def test_connection_that_holds_no_memory_is_read_while_another_one_holds_all_of_it() -> None:
    world = World(NetworkSettings(max_queued_bytes=100_000), answer_s=0.0)
    hoarder = world.network.connect()
    never = world.loop.create_future()
    world.network.resources.gate.handler = lambda request: LaterReply(never, never.result)
    hoarder.send(frame(PRODUCE, 1, bytes(150_000)))
    world.read_all(hoarder)
    assert world.network.resources.memory.frames.is_over
    world.network.resources.gate.handler = world.handle
    peer = world.peer([(PRODUCE, 100)] * 3)
    for _ in range(3):
        while peer.is_readable:
            peer.deliver(len(frame(PRODUCE, 1, bytes(100))))  # one request a read
        world.loop.advance(1)
    assert peer.answered == [0, 1, 2]


def test_new_connections_over_the_memory_limit_hold_four_kibibytes_each_but_for_two() -> None:
    world = World(NetworkSettings(max_queued_bytes=100_000))
    first = world.peer([(ECHO, 500_000)])
    first.deliver(65_536)
    used = world.network.resources.memory.frames.used_bytes
    assert used > 100_000
    for _ in range(10):
        newcomer = world.peer([(ECHO, 500_000)])
        world.read_all(newcomer)
    # One connection may exceed the limit, and one took a pooled buffer of that size.
    assert world.network.resources.memory.frames.used_bytes - used <= 2 * 500_200 + 8 * 4096
    world.run()


def test_complete_frames_that_wait_do_not_let_more_frames_exceed_the_memory_limit() -> None:
    """At most one frame goes over the limit, however many complete frames wait for something else."""
    world = World(NetworkSettings(max_queued_bytes=300_000), answer_s=5.0)
    most = 0
    memory = world.network.resources.memory.frames
    for _ in range(10):
        world.peer([(ECHO, 200_000)])
        world.peer([(PRODUCE, 200_000)])
    while not world.is_done():
        for peer in world.peers:
            if peer.is_readable:
                peer.deliver(65_536)
        most = max(most, memory.used_bytes)
        if not any(peer.is_readable for peer in world.peers):
            world.loop.next_timer()
    assert most < 300_000 + 2 * 200_000 + 20 * 65_536


@pytest.mark.parametrize("tail", [b"", frame(ECHO, 1, bytes(10))[:-1]], ids=["whole frames", "and half a frame"])
def test_thousands_of_requests_in_one_read_are_answered_in_order_and_counted_while_they_wait(tail: bytes) -> None:
    world = World(NetworkSettings())
    count = FIRST_READ // len(frame(ECHO, 0, b""))
    peer = world.peer([(ECHO, 0)] * count)
    peer.send(tail)
    frames = world.network.resources.memory.frames
    waiting = []
    peer.deliver(FIRST_READ)
    while len(peer.answered) < count:
        waiting.append(frames.used_bytes)
        world.loop.turn()
        if peer.is_readable:
            peer.deliver(FIRST_READ)
    assert peer.answered == world.sent[0]
    assert FIRST_READ <= waiting[0] < 2 * FIRST_READ + 100 * MOST_FRAMES
    half = len(tail) + 1 - 4 if tail else 0  # the bytes that its size field announces
    assert world.network.resources.memory.frames.used_bytes == half


def test_garbage_behind_many_requests_closes_the_connection_after_their_responses() -> None:
    world = World(NetworkSettings())
    peer = world.peer([(ECHO, 0)] * (MOST_FRAMES + 10))
    peer.send(struct.pack(">i", -1) + bytes(1000))
    peer.deliver(FIRST_READ)
    while not peer.is_closed:
        world.loop.turn()
    assert peer.answered == world.sent[0]
    assert world.network.resources.memory.responses.used_bytes == 0
    assert world.network.resources.memory.frames.used_bytes == 0


@pytest.mark.parametrize("count", [33, MOST_FRAMES], ids=["a few", "no rest"])
def test_requests_of_a_long_read_count_as_memory_while_they_wait(count: int) -> None:
    world = World(NetworkSettings())
    peer = world.peer([(PRODUCE, 40_000)])
    world.run()
    first = len(world.handled)
    peer.send(*(frame(ECHO, 10_000 + number, bytes(7000)) for number in range(count)))
    peer.deliver(LONG_READ)
    waiting = count - (len(world.handled) - first)
    assert waiting > 0
    assert world.network.resources.memory.frames.used_bytes >= waiting * 7000
    while len(peer.answered) < 1 + count:
        world.loop.turn()
    assert world.network.resources.memory.frames.used_bytes == 0


@pytest.mark.parametrize("size", [15_000, 300_000], ids=["many in a read", "a part of one"])
def test_connection_that_fills_a_long_read_yields_to_others_before_its_next_read(size: int) -> None:
    world = World(NetworkSettings())
    world.network.resources.gate.handler = lambda request: [struct.pack(">i", request.correlation_id)]
    eager = world.peer([(PRODUCE, size)] * 40)
    reads = [0]
    for _ in range(1000):
        if eager.is_readable:
            reads[-1] += len(eager.unsent)
            eager.deliver(LONG_READ)
            reads[-1] -= len(eager.unsent)
        else:
            reads.append(0)
            world.loop.turn()
    assert world.is_done()
    assert sum(reads) > 40 * size
    assert max(reads) < LONG_READ + 2 * FIRST_READ


def test_only_one_connection_gets_a_long_read_buffer_in_each_iteration_of_the_loop() -> None:
    world = World(NetworkSettings())
    world.network.resources.gate.handler = lambda request: [struct.pack(">i", request.correlation_id)]
    peers = [world.peer([(PRODUCE, 40_000)]) for _ in range(3)]
    for peer in peers:
        peer.deliver(FIRST_READ)
    assert [len(peer.connection.get_buffer(-1)) for peer in peers] == [LONG_READ, FIRST_READ, FIRST_READ]
    world.loop.take(0.0001)  # asyncio's clock moves on within an iteration of the loop
    assert len(peers[1].connection.get_buffer(-1)) == FIRST_READ
    assert len(peers[0].connection.get_buffer(-1)) == LONG_READ
    world.loop.advance(1)
    assert [len(peer.connection.get_buffer(-1)) for peer in reversed(peers)] == [LONG_READ, FIRST_READ, FIRST_READ]


def test_reads_are_short_while_a_request_of_the_connection_waits() -> None:
    world = World(NetworkSettings())
    peer = world.peer([(PRODUCE, 40_000)] * 20)
    peer.deliver(40_100)
    assert len(world.handled) == 1
    assert len(peer.connection.get_buffer(-1)) <= FIRST_READ


def test_complete_requests_before_a_partial_one_in_a_long_read_are_answered() -> None:
    """When the complete requests have started, only a partial one is left."""
    world = World(NetworkSettings())
    peer = world.peer([(ECHO, 0)] * (MOST_FRAMES + 1))
    last = len(frame(ECHO, 0, b""))
    peer.deliver(len(peer.unsent) - last + 10)
    for _ in range(5):
        world.loop.turn()
    assert peer.answered == world.sent[0][:-1]
    assert peer.is_readable
    world.run()
