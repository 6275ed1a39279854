"""What attacks cost those who behave: ``scripts/bench --only hostile``.

The broker is pinned to one core; attackers, and the client that behaves, to the other. The client asks one thing after
another (produce, fetch, metadata). Each row is one attack, kept up as hard as one process can: the broker's CPU time
for a good request, with all that it spends on the attackers meanwhile; that against the time without an attack; good
requests a second; and their latency.
"""

import contextlib
import multiprocessing
import os
import random
import socket
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.records.compression import Codec
from support.arena import frame_of, framed, header_of
from support.bombs import packed_batch, zstd_bomb
from support.broker_process import BrokerProcess
from support.good_client import GoodClient, create_topic, produce_request
from support.process_state import cpu_seconds
from support.wire_client import WireClient

SECONDS = 8.0

Attack = Callable[[int], None]
"""Attacks the broker on a port until it is killed."""


def connect(port: int) -> socket.socket:
    peer = socket.create_connection(("127.0.0.1", port))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def throw(port: int, data: bytes) -> None:
    with contextlib.suppress(ConnectionError), connect(port) as peer:
        if data:
            peer.sendall(data)
            peer.recv(1)


def connections_opened_and_dropped(port: int) -> None:
    while True:
        throw(port, b"")


def huge_sizes(port: int) -> None:
    while True:
        throw(port, b"\x7f\xff\xff\xff")


def random_bytes(port: int) -> None:
    dice = random.Random(1)
    while True:
        throw(port, b"\xff" + dice.randbytes(200))


def random_bodies(port: int) -> None:
    dice = random.Random(1)
    head = header_of(MetadataRequest, 12)
    while True:
        throw(port, framed(head + b"\xff\xff" + dice.randbytes(100)))


def single_bytes(port: int) -> None:
    peers = [connect(port) for _ in range(100)]
    request = frame_of(MetadataRequest(topics=[]), 12)
    while True:
        for byte in request:
            for peer in peers:
                peer.sendall(bytes([byte]))
        for peer in peers:
            peer.recv(65_536)


def batches_with_wrong_checksums(port: int) -> None:
    batch = bytearray(61 + 900)
    struct.pack_into(">qiib", batch, 0, 0, len(batch) - 12, 0, 2)
    batch[57:61] = struct.pack(">i", 1)
    request = frame_of(produce_request("attacked", bytes(batch)), 9)
    with connect(port) as peer:
        while True:
            peer.sendall(request)
            peer.recv(65_536)


def requests_of_many_elements(port: int) -> None:
    names = [MetadataRequestTopic(name="x") for _ in range(90_000)]
    request = frame_of(MetadataRequest(topics=names, allow_auto_topic_creation=False), 9)
    with connect(port) as peer:
        while True:
            peer.sendall(request)
            (size,) = struct.unpack(">i", peer.recv(4, socket.MSG_WAITALL))
            peer.recv(size, socket.MSG_WAITALL)


def bombs(port: int) -> None:
    bomb = frame_of(produce_request("compacted", packed_batch(Codec.ZSTD, zstd_bomb(10 * 1024**3), 1000)), 9)
    with connect(port) as peer:
        while True:
            peer.sendall(bomb)
            peer.recv(65_536)


def fetches_never_read(port: int) -> None:
    wanted = FetchTopic(topic="good", partitions=[FetchPartition(partition=0, partition_max_bytes=50_000_000)])
    request = frame_of(FetchRequest(max_bytes=50_000_000, session_epoch=-1, topics=[wanted]), 12)
    while True:
        peers = [connect(port) for _ in range(100)]
        for peer in peers:
            peer.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                peer.sendall(request * 50)
        for peer in peers:
            peer.close()


def members_that_vanish(port: int) -> None:
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


ATTACKS: tuple[Attack, ...] = (
    connections_opened_and_dropped,
    huge_sizes,
    random_bytes,
    random_bodies,
    single_bytes,
    batches_with_wrong_checksums,
    requests_of_many_elements,
    bombs,
    fetches_never_read,
    members_that_vanish,
)


def begin(attack: Attack, port: int, cores: set[int]) -> None:
    os.sched_setaffinity(0, cores)
    attack(port)


@contextlib.contextmanager
def attacked(attack: Attack | None, port: int, cores: set[int]) -> Iterator[None]:
    process: BaseProcess | None = None
    if attack is not None:
        process = multiprocessing.get_context("spawn").Process(target=begin, args=(attack, port, cores), daemon=True)
        process.start()
        time.sleep(1.5)  # it imports first
    try:
        yield
    finally:
        if process is not None:
            process.kill()
            process.join()


def figures_under(attack: Attack | None, cores: tuple[set[int], set[int]]) -> tuple[float, float, float, float]:
    """CPU time of the broker in µs for a good request, good requests a second, and their p50 and p99 in ms."""
    broker_cores, other_cores = cores
    with tempfile.TemporaryDirectory(prefix="hostile-") as directory, BrokerProcess(Path(directory)) as broker:
        for thread in os.listdir(f"/proc/{broker.pid}/task"):
            os.sched_setaffinity(int(thread), broker_cores)
        with WireClient(broker.bootstrap_servers) as client:
            create_topic(client, "attacked")
            create_topic(client, "compacted", {"cleanup.policy": "compact", "max.message.bytes": "10000000"})
        with GoodClient(broker.bootstrap_servers) as good, attacked(attack, broker.port, other_cores):
            good.is_served(10)
            served, cpu, started = good.served, cpu_seconds(broker.pid), time.perf_counter()
            good.latencies_s.clear()
            time.sleep(SECONDS)
            served, cpu, elapsed = good.served - served, cpu_seconds(broker.pid) - cpu, time.perf_counter() - started
            latencies = sorted(good.latencies_s)
    middle, late = latencies[len(latencies) // 2], latencies[len(latencies) * 99 // 100]
    return cpu / max(served, 1) * 1e6, served / elapsed, middle * 1e3, late * 1e3


def main() -> int:
    """Prints the table."""
    available = sorted(os.sched_getaffinity(0))
    cores = ({available[0]}, set(available[1:2]) or {available[0]})
    os.sched_setaffinity(0, cores[1])
    print("| attack | broker CPU µs a good request | ratio | good requests/s | p50 ms | p99 ms |")
    print("|---|---:|---:|---:|---:|---:|")
    alone = 0.0
    for attack in (None, *ATTACKS):
        cpu, rate, middle, late = figures_under(attack, cores)
        alone = alone or cpu
        name = "none" if attack is None else attack.__name__.replace("_", " ")
        print(f"| {name} | {cpu:.0f} | {cpu / alone:.2f} | {rate:.0f} | {middle:.2f} | {late:.2f} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
