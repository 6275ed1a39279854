"""Prints KiB of resident memory for each idle TLS connection of a server: new ones, and the same after traffic.

Run as a program: the server is this process, and the clients are in a child, so that their memory does not count.
"""

import asyncio
import gc
import socket
import ssl
import subprocess
import sys

import uvloop
from support.in_process.tls_ends import client_context, server_context
from support.in_process.tls_server import EchoServer, echo_server

CONNECTIONS = 400
TRAFFIC = 300_000


def resident_kib() -> int:
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def be_clients(port: int) -> None:
    """Open the connections; for each line of the input go on with the next part."""
    context = client_context()
    clients = []
    for _ in range(CONNECTIONS):
        plain = socket.create_connection(("127.0.0.1", port))
        client = context.wrap_socket(plain, server_hostname="localhost")
        exchange(client, 10)
        clients.append(client)
    print("open", flush=True)
    sys.stdin.readline()
    for client in clients:
        exchange(client, TRAFFIC)
    print("idle", flush=True)
    sys.stdin.readline()


def exchange(client: ssl.SSLSocket, size: int) -> None:
    client.sendall(bytes(size))
    while size > 0:
        size -= len(client.recv(65536))


async def measure(server: EchoServer) -> None:
    command = [sys.executable, "-m", "support.in_process.tls_idle_memory", str(server.port)]
    before = resident_kib()
    child = await asyncio.create_subprocess_exec(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    for _ in range(2):
        assert await child.stdout.readline()
        gc.collect()
        assert server.open == CONNECTIONS
        print(f"{(resident_kib() - before) / CONNECTIONS:.1f}", flush=True)
        child.stdin.write(b"\n")
    await child.wait()


async def main() -> None:
    async with echo_server(server_context()) as server:
        await measure(server)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        be_clients(int(sys.argv[1]))
    else:
        uvloop.run(main())
