"""Machines and the network between them, in memory: connections in virtual time, and network faults.

A machine has a name and an address. Bytes of one connection arrive later and in order; bytes of two connections may
overtake each other. As with TCP, a cut loses nothing while both ends keep the connection.
Faults: *cut* (nothing arrives in one direction between two machines, and nobody is told), *slow* (one direction takes
longer by a fixed time), *refuse* (nobody can connect to a machine), *reset* (a connection breaks, and both ends are
told unless the direction to them is cut), *off* (a machine without power is silent, and then knows no connection).
"""

import asyncio
import errno
import os
from collections import Counter
from collections.abc import Callable
from contextvars import Context, copy_context
from random import Random
from typing import Any

from simulation.machines.transport import Pipe, VirtualTransport
from simulation.machines.virtual_loop import CURRENT_HOST, VirtualLoop

__all__ = ["Host", "Network", "VirtualServer", "Way"]

_FASTEST_S = 0.0001
_SLOWEST_S = 0.002
_FIRST_EPHEMERAL_PORT = 32768
_WINDOW_BYTES = 64 * 1024
_ANY_SIZE = 1 << 30
_CONNECT_RETRY_S = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


class Host:
    """A machine."""

    def __init__(self, name: str, address: str) -> None:
        self.name = name
        self.address = address
        self.is_off = False
        self.refuses = False
        self.servers: dict[int, VirtualServer] = {}
        self.transports: dict[VirtualTransport, None] = {}
        self._next_port = _FIRST_EPHEMERAL_PORT

    def free_port(self) -> int:
        self._next_port += 1
        return self._next_port


class VirtualServer:
    """The server that `create_server` returns: it listens at one address."""

    def __init__(self, host: Host, port: int, factory: Callable[[], asyncio.BaseProtocol]) -> None:
        self._host = host
        self._port = port
        self.factory = factory
        self.context: Context = copy_context()
        self.sockets = (_ListeningSocket((host.address, port)),)
        self._serves = False

    def is_serving(self) -> bool:
        return self._serves

    async def start_serving(self) -> None:
        self._serves = True

    def close(self) -> None:
        self._serves = False
        if self._host.servers.get(self._port) is self:
            del self._host.servers[self._port]

    async def wait_closed(self) -> None:
        pass


class _ListeningSocket:
    def __init__(self, name: tuple[str, int]) -> None:
        self._name = name

    def getsockopt(self, level: int, option: int) -> int:
        """SO_ACCEPTCONN: it listens."""
        return 1

    def getsockname(self) -> tuple[str, int]:
        return self._name

    def setsockopt(self, *arguments: Any) -> None:
        """Ignores options, because buffer sizes are fixed."""


Way = tuple[str, str]
"""The sending and the receiving machine."""


class Network:
    """`stalls` and `delays` count blocked and slowed messages by direction, `refusals` by machine, `resets` all.

    `window_bytes`: an end of a connection sends no more while this many bytes are not read at the other end.
    `read_bytes()`: the most bytes that the next read takes. `merges_messages`: a read brings all messages that have
    arrived, as those of TCP do.
    """

    def __init__(self, loop: VirtualLoop, random: Random) -> None:
        self.loop = loop
        self.hosts: dict[str, Host] = {}
        self.stalls: Counter[Way] = Counter()
        self.delays: Counter[Way] = Counter()
        self.refusals: Counter[str] = Counter()
        self.resets = 0
        self.window_bytes = _WINDOW_BYTES
        self.read_bytes: Callable[[], int] = lambda: _ANY_SIZE
        self.merges_messages = False
        self._random = random
        self._cuts: dict[Way, None] = {}
        self._slow: dict[Way, float] = {}
        self._stalled: dict[Pipe, None] = {}
        loop.network = self

    def add_host(self, name: str) -> Host:
        host = self.hosts[name] = Host(name, f"10.0.0.{len(self.hosts) + 1}")
        return host

    def find_host(self, name: str) -> Host:
        """Find a machine by name or address. Raises OSError."""
        host = self.hosts.get(name)
        if host is None:
            host = next((each for each in self.hosts.values() if each.address == name), None)
        if host is None:
            raise OSError(errno.ENOENT, f"no machine is called {name}")
        return host

    def addresses(self, host: str) -> list[str]:
        return [self.find_host(host).address]

    # --- faults

    def cut(self, source: str, destination: str) -> None:
        self._cuts[source, destination] = None

    def heal(self, source: str, destination: str) -> None:
        """Deliver the bytes that waited."""
        self._cuts.pop((source, destination), None)
        self._go_on()

    def heal_all(self) -> None:
        self._cuts.clear()
        self._slow.clear()
        for host in self.hosts.values():
            host.refuses = False
        self._go_on()

    def slow(self, source: str, destination: str, delay_s: float) -> None:
        """Slow down a direction by this many seconds; 0 restores the speed."""
        self._slow[source, destination] = delay_s

    def refuse(self, name: str, *, refuses: bool = True) -> None:
        self.hosts[name].refuses = refuses

    def connections(self) -> list[VirtualTransport]:
        """The connecting end of each connection."""
        return [each for host in self.hosts.values() for each in host.transports if each.is_client]

    def ends_of(self, transport: VirtualTransport) -> Way:
        """The machine that connected, and the other one."""
        return transport.host_name, transport.peer_host.name

    def reset(self, transport: VirtualTransport) -> None:
        self.resets += 1
        transport.break_off()
        if transport.peer is not None:
            transport.peer.break_off()

    def switch_off(self, name: str) -> None:
        """Switch off the power of a machine. The caller must stop everything that runs on it."""
        host = self.hosts[name]
        host.is_off = True
        for transport in list(host.transports):
            transport.vanish()
        host.servers.clear()

    def switch_on(self, name: str) -> None:
        """Switch on a machine that has forgotten its connections; peers notice when they send."""
        host = self.hosts[name]
        host.is_off = False
        for other in self.hosts.values():
            for transport in list(other.transports):
                if transport.peer_host is host and transport.has_no_peer:
                    self.loop.call_later(self.delay(host.name, other.name), transport.break_off)

    def _go_on(self) -> None:
        for pipe in list(self._stalled):
            if not self.is_blocked(pipe.source, pipe.destination):
                del self._stalled[pipe]
                pipe.go_on()

    # --- for connections

    def is_blocked(self, source: str, destination: str) -> bool:
        return (source, destination) in self._cuts or self.hosts[source].is_off or self.hosts[destination].is_off

    def stalled(self, pipe: Pipe) -> None:
        """Note that a message is blocked."""
        self.stalls[pipe.source, pipe.destination] += 1
        self._stalled[pipe] = None

    def delay(self, source: str, destination: str) -> float:
        extra_s = self._slow.get((source, destination), 0.0)
        if extra_s:
            self.delays[source, destination] += 1
        return self._random.uniform(_FASTEST_S, _SLOWEST_S) + extra_s

    async def create_server(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int, *, start_serving: bool
    ) -> VirtualServer:
        machine = self.hosts[CURRENT_HOST.get()] if host in ("", "0.0.0.0") else self.find_host(host)
        if machine.name != CURRENT_HOST.get():
            raise OSError(errno.EADDRNOTAVAIL, os.strerror(errno.EADDRNOTAVAIL))
        port = port or machine.free_port()
        if port in machine.servers:
            raise OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE))
        server = machine.servers[port] = VirtualServer(machine, port, factory)
        if start_serving:
            await server.start_serving()
        return server

    async def create_connection(
        self, factory: Callable[[], asyncio.BaseProtocol], host: str, port: int
    ) -> tuple[VirtualTransport, asyncio.BaseProtocol]:
        source, machine = self.hosts[CURRENT_HOST.get()], self.find_host(host)
        await self._shake_hands(source, machine)
        server = machine.servers.get(port)
        if server is None or not server.is_serving() or machine.refuses:
            self.refusals[machine.name] += machine.refuses
            raise ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED))
        here = VirtualTransport(self, source, (source.address, source.free_port()), copy_context(), is_client=True)
        there = VirtualTransport(self, machine, (machine.address, port), server.context, is_client=False)
        here.connect(there)
        there.context.run(there.begin, server.factory)
        try:
            await asyncio.sleep(self.delay(machine.name, source.name))
        except asyncio.CancelledError:
            here.abort()
            raise
        protocol = here.begin(factory)
        return here, protocol

    async def _shake_hands(self, source: Host, destination: Host) -> None:
        """Open a connection; retries until both directions are free."""
        for pause_s in _CONNECT_RETRY_S:
            await asyncio.sleep(self.delay(source.name, destination.name))
            there, back = (source.name, destination.name), (destination.name, source.name)
            blocked = [way for way in (there, back) if self.is_blocked(*way)]
            if not blocked:
                return
            self.stalls.update(blocked)
            await asyncio.sleep(pause_s)
        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
