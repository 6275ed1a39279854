"""Measures what attacks cost well-behaved clients: `scripts/bench --only hostile`.

The broker is pinned to one core. The attackers (at the lowest priority) share the other core with a good client, which
sends one request after another. Each row runs one attack on its own broker for `SECONDS`; the first row has no attack,
and the deviation of its ratios from 1 is the noise of the machine. Figures, all CPU time of the broker:
good request (``metered_broker.py``: of its threads, from a good request's bytes to its response), in all (with the big
batch process, for each good request, including attackers), operation (the rest, for each operation of the attackers).
"""

import contextlib
import multiprocessing
import os
import random
import select
import signal
import socket
import struct
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pybroker.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record
from support.clients.good_client import GoodClient, create_topic, make_coordinator, produce_request
from support.clients.wire_client import WireClient
from support.logs.bombs import packed_batch, zstd_bomb, zstd_mine
from support.processes.arena import frame_of, framed, header_of
from support.processes.broker_process import BrokerProcess
from support.processes.process_state import family_cpu_seconds

from .metered_broker import Meter
from .metered_broker import command as metered_broker
from .noise import NOISY, noise_of, verdict
from .report import NO, TARGETS_MISSED

PEACE_SECONDS = 4.0
SECONDS = 8.0
AT_MOST = 2.0
"""Limit: an attack may multiply the cost of a good request by this."""
Operations = Any
"""Shared counter of operations (`multiprocessing.Value`)."""
Attack = Callable[[int, Operations], None]
"""Attacks the broker on a port until killed, and counts operations."""


def connect(port: int, receive_buffer_bytes: int | None = None) -> socket.socket:
    peer = socket.socket()
    if receive_buffer_bytes is not None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    peer.connect(("127.0.0.1", port))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def throw(port: int, data: bytes) -> None:
    with contextlib.suppress(ConnectionError), connect(port) as peer:
        if data:
            peer.sendall(data)
            peer.recv(1)


def no_attack(port: int, done: Operations) -> None:
    done.value += 1
    while True:
        time.sleep(60)


def connections_opened_and_dropped(port: int, done: Operations) -> None:
    while True:
        throw(port, b"")
        done.value += 1


def huge_sizes(port: int, done: Operations) -> None:
    while True:
        throw(port, b"\x7f\xff\xff\xff")
        done.value += 1


def random_bytes(port: int, done: Operations) -> None:
    dice = random.Random(1)
    while True:
        throw(port, b"\xff" + dice.randbytes(200))
        done.value += 1


def random_bodies(port: int, done: Operations) -> None:
    dice = random.Random(1)
    head = header_of(MetadataRequest, 12)
    while True:
        throw(port, framed(head + b"\xff\xff" + dice.randbytes(100)))
        done.value += 1


def half_frames_and_silence(port: int, done: Operations) -> None:
    """An operation is a connection that sent half of a request. A thousand stay open; then the oldest is closed."""
    request = frame_of(MetadataRequest(topics=[]), 12)
    silent: deque[socket.socket] = deque(maxlen=1000)
    while True:
        with contextlib.suppress(ConnectionError):
            peer = connect(port)
            peer.sendall(request[: len(request) // 2])
            if len(silent) == silent.maxlen:
                silent.popleft().close()
            silent.append(peer)
        done.value += 1


def impostor_controller(port: int, done: Operations) -> None:
    orders = LeaderAndIsrRequest(controller_id=7, controller_epoch=2**31 - 1, broker_epoch=2**31 - 1)
    request = frame_of(orders, 7)
    while True:
        throw(port, request)
        done.value += 1


def impostor_replica(port: int, done: Operations) -> None:
    """Fetches like a follower that claims to have everything, which would move a high watermark."""
    partition = FetchPartition(partition=0, fetch_offset=2**40, partition_max_bytes=1_000_000)
    wanted = [FetchTopic(topic="attacked", partitions=[partition])]
    request = frame_of(
        FetchRequest(replica_id=7, max_wait_ms=0, max_bytes=1_000_000, session_epoch=-1, topics=wanted), 12
    )
    with connect(port) as peer:
        while True:
            peer.sendall(request)
            peer.recv(65_536)
            done.value += 1


def single_bytes(port: int, done: Operations) -> None:
    peers = [connect(port) for _ in range(100)]
    request = frame_of(MetadataRequest(topics=[]), 12)
    while True:
        for byte in request:
            for peer in peers:
                peer.sendall(bytes([byte]))
                done.value += 1
        for peer in peers:
            peer.recv(65_536)


def batch_with_wrong_checksum(size_bytes: int) -> bytes:
    batch = bytearray(size_bytes)
    struct.pack_into(">qiib", batch, 0, 0, len(batch) - 12, 0, 2)
    batch[57:61] = struct.pack(">i", 1)
    return bytes(batch)


def batches_with_wrong_checksums(port: int, done: Operations) -> None:
    request = frame_of(produce_request("attacked", batch_with_wrong_checksum(61 + 900)), 9)
    with connect(port) as peer:
        while True:
            peer.sendall(request)
            peer.recv(65_536)
            done.value += 1


def large_batches_on_their_way(port: int, done: Operations) -> None:
    """Five requests in flight on each connection, so that the broker may read much at once; none of
    it fills the disk."""
    request = frame_of(produce_request("attacked", batch_with_wrong_checksum(50_000)), 9)
    sent_and_answered(port, done, [request] * 5)


def large_batches_of_many_connections(port: int, done: Operations) -> None:
    """Connections that keep sending and never read a response. A closed connection is opened again."""
    request = memoryview(frame_of(produce_request("attacked", batch_with_wrong_checksum(250_000)), 9))
    poll = select.epoll()
    unsent: dict[int, tuple[socket.socket, memoryview]] = {}

    def begin_one() -> None:
        peer = connect(port)
        peer.setblocking(False)
        unsent[peer.fileno()] = peer, request
        poll.register(peer, select.EPOLLOUT)

    for _ in range(500):
        begin_one()
    while True:
        for descriptor, _ in poll.poll():
            peer, rest = unsent.pop(descriptor)
            try:
                rest = rest[peer.send(rest) :]
            except ConnectionError:
                peer.close()
                begin_one()
                continue
            if not rest:
                done.value += 1
            unsent[descriptor] = peer, rest or request


def requests_of_many_elements(port: int, done: Operations) -> None:
    names = [MetadataRequestTopic(name="x") for _ in range(90_000)]
    request = frame_of(MetadataRequest(topics=names, allow_auto_topic_creation=False), 9)
    with connect(port) as peer:
        while True:
            peer.sendall(request)
            (size,) = struct.unpack(">i", peer.recv(4, socket.MSG_WAITALL))
            peer.recv(size, socket.MSG_WAITALL)
            done.value += 1


def bombs(port: int, done: Operations) -> None:
    bomb = frame_of(produce_request("compacted", packed_batch(Codec.ZSTD, zstd_bomb(10 * 1024**3), 1000)), 9)
    with connect(port) as peer:
        while True:
            peer.sendall(bomb)
            peer.recv(65_536)
            done.value += 1


def batches_that_unpack_to_240_mb(port: int, done: Operations) -> None:
    mine = frame_of(produce_request("compacted", packed_batch(Codec.ZSTD, zstd_mine(240 * 1024**2), 1000)), 9)
    with connect(port) as peer:
        while True:
            peer.sendall(mine)
            peer.recv(65_536)
            done.value += 1


def messages_of_an_old_format(port: int, done: Operations) -> None:
    """The largest batches that the broker converts in its own process, without content."""
    messages = [Record(number, time.time_ns() // 1_000_000, None, b"") for number in range(95_000)]
    sent_and_answered(port, done, [frame_of(produce_request("attacked", build_message_set(messages, 1)), 2)])


def records_to_be_packed_at_the_hardest_level(port: int, done: Operations) -> None:
    values = random.Random(1)
    records = [Record(number, time.time_ns() // 1_000_000, None, values.randbytes(100)) for number in range(9_000)]
    sent_and_answered(port, done, [frame_of(produce_request("packed", build_batch(records)), 9)])


def short_questions_with_long_answers(port: int, done: Operations) -> None:
    """Asks ten times for all topics, all partitions of all directories, and all settings of the broker."""
    with WireClient(f"127.0.0.1:{port}") as client:
        create_partitions(client, "wide", 400)
        broker_id = client.ask(MetadataRequest(topics=[]), 12).brokers[0].node_id
    broker = DescribeConfigsResource(resource_type=4, resource_name=str(broker_id))
    asked = (
        (MetadataRequest(topics=None), 12),
        (DescribeLogDirsRequest(topics=None), 4),
        (DescribeConfigsRequest(resources=[broker] * 10, include_synonyms=True), 4),
    )
    sent_and_answered(port, done, [frame_of(request, version) for request, version in asked])


def newcomers_that_ask_for_much(port: int, done: Operations) -> None:
    """Asks for the metadata of 2,000 partitions once on each connection, then drops it."""
    with WireClient(f"127.0.0.1:{port}") as client:
        create_partitions(client, "wide", 2_000)
    question = frame_of(MetadataRequest(topics=None), 12)
    while True:
        with contextlib.suppress(ConnectionError), connect(port) as peer:
            peer.sendall(question)
        done.value += 1


def searches_by_time(port: int, done: Operations) -> None:
    """Each request searches all partitions of a topic; eight requests in flight on each connection."""
    batch = bytes(build_batch([Record(0, time.time_ns() // 1_000_000, None, b"")]))
    with WireClient(f"127.0.0.1:{port}") as client:
        create_partitions(client, "wide", 400)
        for index in range(400):
            client.ask(produce_request("wide", batch, partition=index), 9)
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=1) for index in range(400)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="wide", partitions=partitions)])
    sent_and_answered(port, done, [frame_of(request, 4)] * 8)


def create_partitions(client: WireClient, topic: str, count: int) -> None:
    wide = CreatableTopic(name=topic, num_partitions=count, replication_factor=1)
    client.ask(CreateTopicsRequest(topics=[wide], timeout_ms=60_000), 7)


def sent_and_answered(port: int, done: Operations, requests: Sequence[bytes]) -> None:
    """Sends the requests on sixteen connections at a time and reads the responses."""
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(connect(port)) for _ in range(16)]
        done.value += 1
        while True:
            for peer in peers:
                peer.sendall(b"".join(requests))
            for peer in peers:
                for _ in requests:
                    (size,) = struct.unpack(">i", peer.recv(4, socket.MSG_WAITALL))
                    peer.recv(size, socket.MSG_WAITALL)
                    done.value += 1


def fetches_never_read(port: int, done: Operations) -> None:
    """An operation is a stuck connection: its socket is full of responses."""
    wanted = FetchTopic(topic="fetched", partitions=[FetchPartition(partition=0, partition_max_bytes=50_000_000)])
    request = frame_of(FetchRequest(max_bytes=50_000_000, session_epoch=-1, topics=[wanted]), 12)
    while True:
        peers = [connect(port, receive_buffer_bytes=4096) for _ in range(100)]
        for peer in peers:
            peer.sendall(request * 50)
        for peer in peers:
            peer.recv(1, socket.MSG_PEEK)
            done.value += 1
        for peer in peers:
            peer.close()


def long_polls_for_much(port: int, done: Operations) -> None:
    """An operation is a fetch that waits for more bytes than will arrive, on the topic of the good client."""
    wanted = FetchTopic(topic="good", partitions=[FetchPartition(partition=0, partition_max_bytes=2**31 - 1)])
    long = 2**31 - 1
    request = frame_of(FetchRequest(max_wait_ms=long, min_bytes=long, session_epoch=-1, topics=[wanted]), 12)
    peers = [connect(port) for _ in range(100)]
    for peer in peers:
        peer.sendall(request * 8)
        done.value += 8
    signal.pause()


def members_that_vanish(port: int, done: Operations) -> None:
    number = 0
    while True:
        number += 1
        request = JoinGroupRequest(
            group_id="crowd",
            session_timeout_ms=6_000,
            rebalance_timeout_ms=6_000,
            member_id="",
            group_instance_id=f"ghost {number}",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"m")],
        )
        with contextlib.suppress(ConnectionError), connect(port) as peer:
            peer.sendall(frame_of(request, 7))
        done.value += 1


ATTACKS: tuple[Attack, ...] = (
    connections_opened_and_dropped,
    huge_sizes,
    random_bytes,
    random_bodies,
    half_frames_and_silence,
    impostor_controller,
    impostor_replica,
    single_bytes,
    batches_with_wrong_checksums,
    large_batches_on_their_way,
    large_batches_of_many_connections,
    requests_of_many_elements,
    bombs,
    batches_that_unpack_to_240_mb,
    messages_of_an_old_format,
    records_to_be_packed_at_the_hardest_level,
    short_questions_with_long_answers,
    newcomers_that_ask_for_much,
    searches_by_time,
    fetches_never_read,
    long_polls_for_much,
    members_that_vanish,
)


def begin(attack: Attack, port: int, done: Operations, cores: set[int]) -> None:
    os.sched_setaffinity(0, cores)
    os.nice(19)
    attack(port, done)


@contextlib.contextmanager
def attacked(attack: Attack, port: int, cores: set[int]) -> Iterator[Operations]:
    """The block of the context begins when the attack has begun."""
    spawn = multiprocessing.get_context("spawn")
    done = spawn.Value("Q", 0, lock=False)
    process = spawn.Process(target=begin, args=(attack, port, done, cores), daemon=True)
    process.start()
    try:
        while not done.value:
            time.sleep(0.01)
        yield done
    finally:
        process.kill()
        process.join()


@dataclass(frozen=True)
class Figures:
    """Figures of one attack. CPU times of the broker in µs for each good request."""

    good_us: float
    """CPU time of the request's own handling."""
    total_us: float
    operation_us: float
    """CPU time that is not the good client's, for each operation of the attackers."""
    good_per_s: float
    operations_per_s: float
    p50_ms: float
    p99_ms: float


def figures_of(broker: BrokerProcess, meter: Meter, good: GoodClient, done: Operations, seconds: float) -> Figures:
    """Measures for `seconds` from now."""
    good.is_served(10)
    served, operations, started = good.served, done.value, time.perf_counter()
    cpu, (metered_ns, metered) = family_cpu_seconds(broker.pid), meter.read()
    good.latencies_s.clear()
    time.sleep(seconds)
    cpu, (ended_ns, ended) = family_cpu_seconds(broker.pid) - cpu, meter.read()
    served, operations = max(1, good.served - served), done.value - operations
    elapsed = time.perf_counter() - started
    latencies = sorted(good.latencies_s)
    good_us = (ended_ns - metered_ns) / max(1, ended - metered) / 1000
    return Figures(
        good_us=good_us,
        operation_us=max(0.0, cpu * 1e6 - good_us * served) / max(1, operations),
        total_us=cpu / served * 1e6,
        good_per_s=served / elapsed,
        operations_per_s=operations / elapsed,
        p50_ms=latencies[len(latencies) // 2] * 1e3,
        p99_ms=latencies[len(latencies) * 99 // 100] * 1e3,
    )


def figures_around(attack: Attack, cores: tuple[set[int], set[int]], scale: float) -> tuple[Figures, Figures]:
    """Returns the figures of one broker before and during the attack. `scale` multiplies the seconds."""
    broker_cores, other_cores = cores
    with tempfile.TemporaryDirectory(prefix="hostile-") as directory:
        file = Path(directory) / "meter"
        meter = Meter(file)
        with BrokerProcess(Path(directory), command=metered_broker(file)) as broker:
            for thread in os.listdir(f"/proc/{broker.pid}/task"):
                os.sched_setaffinity(int(thread), broker_cores)
            with WireClient(broker.bootstrap_servers) as client:
                create_topic(client, "attacked")
                make_coordinator(client)
                create_topic(client, "packed", {"compression.type": "zstd", "compression.zstd.level": "22"})
                create_topic(client, "compacted", {"cleanup.policy": "compact", "max.message.bytes": "10000000"})
            with GoodClient(broker.bootstrap_servers, "fetched") as earlier:
                earlier.is_served(1000)
            with GoodClient(broker.bootstrap_servers) as good:
                before = figures_of(broker, meter, good, SimpleNamespace(value=0), PEACE_SECONDS * scale)
                with attacked(attack, broker.port, other_cores) as done:
                    return before, figures_of(broker, meter, good, done, SECONDS * scale)


def ratios_of(before: Figures, found: Figures) -> tuple[float, float]:
    """Returns the ratios of a good request's own CPU time and of all CPU time for each."""
    return found.good_us / before.good_us, found.total_us / before.total_us


def row(attack: Attack, before: Figures, found: Figures, said: str) -> str:
    good, total = ratios_of(before, found)
    return (
        f"| {attack.__name__.replace('_', ' ')} | {found.operations_per_s:.0f} | {found.operation_us:.0f} "
        f"| {before.good_us:.0f}, {found.good_us:.0f} | {good:.2f} | {said} "
        f"| {before.total_us:.0f}, {found.total_us:.0f} | {total:.2f} "
        f"| {before.good_per_s:.0f}, {found.good_per_s:.0f} | {before.p50_ms:.2f}, {found.p50_ms:.2f} "
        f"| {before.p99_ms:.2f}, {found.p99_ms:.2f} |"
    )


def main(scale: float = 1.0) -> int:
    """Prints the table; returns 1 if a good request costs too much. `scale` multiplies the seconds of each attack."""
    available = sorted(os.sched_getaffinity(0))
    cores = ({available[0]}, set(available[1:2]) or {available[0]})
    os.sched_setaffinity(0, cores[1])
    print(
        "| attack | operations/s | µs an operation | µs a good request: before, under it | ratio | at most twice "
        "| µs in all: before, under it | ratio | good requests/s | p50 ms | p99 ms |"
    )
    print("|---|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|")
    noise = 0.0
    verdicts = []
    for attack in (no_attack, *ATTACKS):
        before, found = figures_around(attack, cores, scale)
        if attack is no_attack:
            noise = noise_of(ratios_of(before, found))
        verdicts.append(verdict(ratios_of(before, found)[0], AT_MOST, noise))
        print(row(attack, before, found, verdicts[-1]), flush=True)
    if noise > NOISY:
        print(f"\nThe machine was not quiet: figures differed by {100 * noise:.0f} % without any attack.")
    return TARGETS_MISSED if NO in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
