"""Benchmark of the network layer over loopback, with the client in its own process.

python tests/broker/network/benchmark_network.py

- requests: one connection with a window of trivial requests (35-byte bodies) in flight, answered at once
- regions: responses of one file region from the page cache, several sizes, one at a time
- frames: requests of several sizes with empty responses, two in flight, as a producer sends them
"""

import asyncio
import multiprocessing
import os
import socket
import struct
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection as Pipe

import uvloop
from pybroker.broker.network.listener import Listeners
from pybroker.broker.network.request import Reply, Request
from pybroker.broker.network.settings import Endpoint, NetworkSettings

REQUESTS = 400_000
WINDOW = 100


class Stretch:
    """A region of a file that stays open."""

    def __init__(self, fd: int, position: int, size_bytes: int) -> None:
        self._fd = fd
        self.position = position
        self.size_bytes = size_bytes

    def fileno(self) -> int:
        return self._fd


def frame(api_key: int, body: bytes) -> bytes:
    return struct.pack(">ihhih5s", 15 + len(body), api_key, 0, 7, 5, b"bench") + body


def read_exactly(peer: socket.socket, size: int, scratch: bytearray) -> None:
    while size > 0:
        size -= peer.recv_into(scratch, min(size, len(scratch)))


def request_client(port: int, pipe: Pipe) -> None:
    peer = socket.create_connection(("127.0.0.1", port))
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    scratch = bytearray(1 << 20)
    for window in (1, 5, WINDOW):
        burst = frame(3, b"x" * 35) * window
        count = REQUESTS // (10 if window == 1 else 1)
        pipe.recv()
        began = time.perf_counter()
        for _ in range(count // window):
            peer.sendall(burst)
            read_exactly(peer, window * 12, scratch)
        pipe.send((f"{window} in flight", count, time.perf_counter() - began))
    pipe.send(None)


def region_client(port: int, pipe: Pipe) -> None:
    peer = socket.create_connection(("127.0.0.1", port))
    scratch = bytearray(1 << 20)
    for size in (1024, 4096, 16 << 10, 32 << 10, 64 << 10, 256 << 10, 1 << 20, 16 << 20):
        count = max(20, min(20_000, (1 << 30) // size))
        ask = frame(1, struct.pack(">i", size))
        pipe.recv()
        began = time.perf_counter()
        for _ in range(count):
            peer.sendall(ask)
            read_exactly(peer, size + 8, scratch)
        pipe.send((f"regions of {size >> 10} KiB", count, time.perf_counter() - began))
    pipe.send(None)


def frame_client(port: int, pipe: Pipe) -> None:
    peer = socket.create_connection(("127.0.0.1", port))
    scratch = bytearray(1 << 20)
    for size in (1024, 16 << 10, 64 << 10, 1 << 20, 16 << 20):
        count = max(20, min(20_000, (1 << 30) // size))
        ask = frame(0, bytes(size))
        pipe.recv()
        began = time.perf_counter()
        peer.sendall(ask)
        for _ in range(count - 1):
            peer.sendall(ask)
            read_exactly(peer, 8, scratch)
        read_exactly(peer, 8, scratch)
        pipe.send((f"frames of {size >> 10} KiB", count, time.perf_counter() - began))
    pipe.send(None)


async def measure(client: Callable[[int, Pipe], None], fd: int) -> None:
    loop = asyncio.get_running_loop()

    def handle(request: Request) -> Reply:
        answer = struct.pack(">i", request.correlation_id)
        if request.api_key == 1:
            (size,) = struct.unpack_from(">i", request.frame, request.header_size)
            return [answer, Stretch(fd, 0, size)]
        if request.api_key == 3:
            return [answer, b"abcd"]
        return [answer]

    listeners = Listeners(
        NetworkSettings(), handle, clock_ms=lambda: time.time_ns() // 1_000_000, header_version=lambda key, version: 1
    )
    (endpoint,) = await listeners.open([Endpoint("BENCH", "127.0.0.1", 0)])
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=client, args=(endpoint.port, theirs))
    process.start()
    while True:
        ours.send("go")
        cpu = time.process_time()
        result = await loop.run_in_executor(None, ours.recv)
        if result is None:
            break
        cpu = time.process_time() - cpu
        name, count, seconds = result
        print(f"{name:24} {count / seconds:10,.0f}/s  {cpu / count * 1e6:8.2f} µs of CPU each")
    process.join()
    await listeners.close(1)


def main() -> None:
    with tempfile.TemporaryFile() as file:
        file.write(os.urandom(1 << 20) * 16)
        file.flush()
        for client in (request_client, region_client, frame_client):
            uvloop.run(measure(client, file.fileno()))


if __name__ == "__main__":
    main()
