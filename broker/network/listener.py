"""The broker's listeners: bind addresses, accept and admit connections, and keep the list of them."""

import asyncio
import logging
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast
from uuid import UUID

from ..quotas.connection_rates import ConnectionRates, HeldConnections
from .bound_sockets import bind_error, open_servers, start_serving
from .client_traffic import GoneClients
from .connection import Connection
from .connection_limits import Admission, ConnectionLimits, LimitSettings
from .frame_gate import FrameGate
from .idle_connections import IdleConnections
from .listener_counters import ListenerCounters
from .local_socket_options import LocalSocketOptions, congestion_control_that_paces
from .loop_resources import LoopResources
from .offender_log import Violation, offences_in
from .region_sender import RegionSenderFactory, RunInWorker, new_region_sender, sender_for
from .request import ConnectionInfo, Handler
from .request_header import HeaderVersion, api_header_version
from .request_timer import RequestTimer
from .settings import Endpoint, NetworkSettings
from .socket_states import leaves_descriptors
from .transport import Transport

__all__ = ["Listeners", "ListenersMade", "nothing_more"]

logger = logging.getLogger(__name__)

ListenersMade = Callable[["Listeners", Callable[[UUID], str | None]], None]
"""Told of the listeners before they accept connections, and of the names of topics by their ids."""


class Listeners:
    """All listening sockets of the broker.

    ``bind`` them, ``serve`` when requests can be answered, ``stop_accepting`` when shutdown begins, ``close`` at its
    end.
    """

    def __init__(
        self,
        settings: NetworkSettings,
        handler: Handler,
        *,
        clock_ms: Callable[[], int],
        stopwatch_s: Callable[[], float] = time.perf_counter,
        work_time_s: Callable[[], float] = time.thread_time,
        run_in_worker: RunInWorker | None = None,
        new_sender: RegionSenderFactory = new_region_sender,
        paced_by: Callable[[], bytes | None] = congestion_control_that_paces,
        header_version: HeaderVersion = api_header_version,
    ) -> None:
        """To be made on the running loop.

        ``clock_ms``: the wall clock. ``stopwatch_s`` moves on while a request is handled, ``work_time_s`` by the CPU
        time of the thread. ``run_in_worker`` reads cold pages; default: the loop's executor. ``paced_by``: see
        `LocalSocketOptions`.
        """
        loop = asyncio.get_running_loop()
        self._loop = loop
        self._local_socket_options = LocalSocketOptions(paced_by(), settings)
        self._resources = LoopResources(
            settings,
            handler,
            loop=loop,
            clock_ms=clock_ms,
            stopwatch_s=stopwatch_s,
            work_time_s=work_time_s,
            run_in_worker=run_in_worker or (lambda work: loop.run_in_executor(None, work)),
            local_socket_options=self._local_socket_options,
            header_version=header_version,
            logger=logger,
        )
        self.counters: dict[str, ListenerCounters] = {}
        """By the name of the listener."""
        self.gone_clients = GoneClients()
        self._plaintext_sender = new_sender
        self._settings = settings
        self._limits = ConnectionLimits(settings.limits)
        self._servers: list[tuple[Endpoint, asyncio.Server]] = []
        self._connections: dict[Connection, None] = {}
        self._waiting: deque[Connection] = deque()  # the connections in this list that are over max.connections
        self._creation_rates: ConnectionRates | None = None
        self._held: HeldConnections[Connection] = HeldConnections(settings.backlog)
        self._held_timer: asyncio.TimerHandle | None = None
        self.gate_around: Callable[[ConnectionInfo, FrameGate], FrameGate] = lambda _info, gate: gate
        """Returns the gate of a new connection whose client must log in, from the gate that its listener has."""
        self._turns_away: Callable[[Connection], bool] | None = None
        self._rate_timer: asyncio.TimerHandle | None = None
        self._all_gone: asyncio.Future[None] | None = None

    async def open(self, endpoints: Sequence[Endpoint]) -> list[Endpoint]:
        """``bind`` and ``serve``."""
        opened = await self.bind(endpoints)
        await self.serve()
        return opened

    async def bind(self, endpoints: Sequence[Endpoint]) -> list[Endpoint]:
        """Take the addresses. The same endpoints come back, with the port that the system chose in place of 0.

        :raises AddressInUseError: no address stays bound.
        :raises BindError: no address stays bound.
        """
        for endpoint in endpoints:
            endpoint.security.check(endpoint.security_protocol)
        opened = []
        try:
            for endpoint in endpoints:
                self._limits.add_listener(endpoint.listener_name)
                self.counters[endpoint.listener_name] = ListenerCounters()
                origin = _Origin(self, endpoint, sender_for(endpoint.security_protocol, self._plaintext_sender))
                servers, port = await open_servers(
                    endpoint, self._settings, self._local_socket_options, origin.new_connection
                )
                bound = replace(endpoint, port=port)
                self._servers += [(bound, server) for server in servers]
                opened.append(bound)
        except BaseException:
            self.stop_accepting()
            raise
        return opened

    async def serve(self) -> None:
        """Accept connections.

        :raises BindError: another process listens on the address.
        """
        for endpoint, server in self._servers:
            try:
                await start_serving(server)
            except OSError as error:
                self.stop_accepting()
                raise bind_error(endpoint, error) from error

    @property
    def connection_count(self) -> int:
        """Open ones, with those that wait because of ``max.connections``."""
        return len(self._connections)

    @property
    def request_bytes(self) -> int:
        """Memory that counts against ``queued.max.request.bytes`` now."""
        return self._resources.memory.frames.used_bytes

    @property
    def available_request_bytes(self) -> int:
        """Memory that further requests may take before connections are not read for lack of it."""
        frames = self._resources.memory.frames
        return max(frames.max_bytes - frames.used_bytes, 0)

    def offences(self) -> Counter[str]:
        """How often clients misbehaved, by the kind."""
        return offences_in(self._resources.offenders.counts)

    @property
    def waiting_requests(self) -> int:
        """Connections whose next request waits to be started."""
        return self._resources.gate.queue.waiting_count

    @property
    def idle(self) -> IdleConnections:
        return self._resources.idle

    def connections(self) -> list[Connection]:
        """Open ones, in the order they came."""
        return list(self._connections)

    def change_limits(self, limits: LimitSettings) -> None:
        """New limits. Above ``max.connections`` the longest idle ones are closed, as by Kafka; all other limits are for
        connections to come."""
        self._limits.settings = limits
        self._close_excess()
        self._admit_waiting()

    def time_requests(self, timer: RequestTimer | None) -> None:
        """Let ``timer`` take the times of requests, on connections to come."""
        self._resources.timer = timer

    @property
    def handler(self) -> Handler:
        """The handler of all requests; it may be replaced at any time, on any thread."""
        return self._resources.gate.handler

    @handler.setter
    def handler(self, handler: Handler) -> None:
        self._resources.gate.handler = handler

    def connection_of(self, info: ConnectionInfo) -> Connection | None:
        """The open connection to which ``info`` belongs."""
        return next((connection for connection in self.connections() if connection.info is info), None)

    def turn_away(self, refuses: Callable[[Connection], bool] | None) -> None:
        """Let ``refuses`` close new connections; it returns whether it has closed one. None: accept all."""
        if self._turns_away is not _abort:
            self._turns_away = refuses

    def limit_creations(self, rates: ConnectionRates) -> None:
        """Limit the rate at which addresses may connect, from now on."""
        self._creation_rates = rates

    def finish_connections(self) -> None:
        """Close all connections when their requests under way are answered, so that clients ask for ApiVersions again:
        the versions that they may use have changed."""
        for connection in self.connections():
            connection.finish()

    def stop_accepting(self) -> None:
        """Accept no more; open connections go on."""
        for _, server in self._servers:
            server.close()
        self._servers.clear()

    async def close(self, grace_s: float) -> None:
        """Accept nothing, start no further request, give those under way ``grace_s`` to be answered, and close."""
        self._turns_away = _abort
        self.stop_accepting()
        self.finish_connections()
        if self._connections:
            timer = self._loop.call_later(grace_s, self._abort_all)
            await self.gone()
            timer.cancel()
        self._resources.idle.close()
        self._resources.disconnects.close()
        self._cancel_timers()
        await self._resources.cancel_tasks()

    async def gone(self) -> None:
        """Wait until there is no connection."""
        if self._connections:
            if self._all_gone is None or self._all_gone.done():
                self._all_gone = self._loop.create_future()
            await asyncio.shield(self._all_gone)

    def kill(self) -> None:
        """End as a crash does: peers see their connections reset, requests under way get no response."""
        self._turns_away = _abort
        self.stop_accepting()
        for connection in self.connections():
            connection.reset()
        self._resources.idle.close()
        self._resources.disconnects.close()
        self._cancel_timers()
        self._resources.kill_tasks()

    def _cancel_timers(self) -> None:
        for timer in (self._rate_timer, self._held_timer):
            if timer is not None:
                timer.cancel()

    def _abort_all(self) -> None:
        logger.info("%d connections did not end in time: closing them", len(self._connections))
        for connection in self.connections():
            connection.abort()

    # --- what a connection reports

    def connected(self, connection: Connection, transport: Transport, endpoint: Endpoint) -> ConnectionInfo:
        info = ConnectionInfo(
            endpoint.listener_name,
            endpoint.security_protocol,
            _host_and_port(transport.get_extra_info("sockname")),
            _host_and_port(transport.get_extra_info("peername")),
            self.counters.setdefault(endpoint.listener_name, ListenerCounters()),
        )
        info.counters.accepted += 1
        info.counters.connections += 1
        connection.info = info
        self._local_socket_options.accepted(transport, info)
        now_s = self._loop.time()
        self._connections[connection] = None
        if self._turns_away is not None and self._turns_away(connection):
            return info
        if not leaves_descriptors(transport):
            self._refuse(connection, "hardly any more files may be open (ulimit -n), and log files need some")
        elif not self._try_to_admit(connection, now_s):
            if len(self._waiting) < self._settings.backlog:
                self._waiting.append(connection)
                connection.wait_for_admission()
                self._watch_rate(now_s)
            else:
                self._refuse(connection, "max.connections is reached, and as many wait as the backlog may hold")
        return info

    def disconnected(self, connection: Connection) -> None:
        del self._connections[connection]
        connection.info.counters.connections -= 1
        self.gone_clients.add(connection.traffic)
        if connection.is_admitted:
            self._limits.remove(connection.info.listener_name, connection.info.peer_host)
            self._admit_waiting()
        elif connection in self._waiting:
            self._waiting.remove(connection)
        if not self._connections and self._all_gone is not None and not self._all_gone.done():
            self._all_gone.set_result(None)

    def _try_to_admit(self, connection: Connection, now_s: float) -> bool:
        """True: it was decided about, one way or the other; False: it has to wait."""
        info = connection.info
        decision = self._limits.decide(info.listener_name, info.peer_host, now_s)
        if decision is Admission.WAIT:
            return False
        if self._hold_for_rate(connection, now_s):
            return True
        if decision is Admission.REFUSE:
            most = self._limits.max_of_address(info.peer_host)
            self._refuse(connection, f"max.connections.per.ip allows {most} from this address")
            return True
        self._limits.add(info.listener_name, info.peer_host, now_s)
        connection.admit()
        if decision is Admission.ADMIT_AND_CLOSE_IDLE:
            self._close_excess()
        return True

    def _hold_for_rate(self, connection: Connection, now_s: float) -> bool:
        """True: the address connects too often, so the connection is held for a while, and closed."""
        if self._creation_rates is None:
            return False
        host, now_ms = connection.info.peer_host, int(now_s * 1000)
        hold_ms = self._creation_rates.record(host, now_ms)
        if not hold_ms:
            return False
        self._resources.offenders.warn(
            host, Violation.TOO_MANY, f"Refusing the connection of {connection.info}: its connection_creation_rate"
            " is exceeded"
        )  # fmt: skip
        connection.wait_for_admission()
        one_too_many = self._held.hold(connection, now_ms + hold_ms)
        if one_too_many is not None:
            one_too_many.abort()
        self._watch_held(now_ms)
        return True

    def _close_held(self) -> None:
        self._held_timer = None
        now_ms = int(self._loop.time() * 1000)
        for connection in self._held.due(now_ms):
            connection.abort()
        self._watch_held(now_ms)

    def _watch_held(self, now_ms: int) -> None:
        if self._held_timer is None and self._held.next_ms is not None:
            wait_s = max(self._held.next_ms - now_ms, 1) / 1000
            self._held_timer = self._resources.call_later(wait_s, self._close_held)

    def _admit_waiting(self) -> None:
        if self._rate_timer is not None:
            self._rate_timer.cancel()
            self._rate_timer = None
        now_s = self._loop.time()
        for _ in range(len(self._waiting)):
            connection = self._waiting.popleft()
            if not self._try_to_admit(connection, now_s):
                self._waiting.append(connection)
        self._watch_rate(now_s)

    def _watch_rate(self, now_s: float) -> None:
        """``now_s``: the time of the decision to wait. At a later time all waits may be over, and no timer be set."""
        if self._rate_timer is not None:
            return
        waits_s = [
            self._limits.rate_wait_s(name, now_s) for name in {each.info.listener_name for each in self._waiting}
        ]
        if any(waits_s):
            self._rate_timer = self._resources.call_later(min(filter(None, waits_s)), self._admit_waiting)

    def _refuse(self, connection: Connection, reason: str) -> None:
        info = connection.info
        self._resources.offenders.warn(
            info.peer_host, Violation.TOO_MANY, f"Refusing the connection of {info}: {reason}"
        )
        connection.abort()

    def _close_excess(self) -> None:
        """Close the longest idle connections above ``max.connections``; those that are closing count."""
        excess = self._limits.excess
        if not excess:
            return
        by_activity = cast("list[Connection]", self._resources.idle.by_activity())
        clients = [
            connection
            for connection in by_activity
            if connection.is_admitted and not self._limits.is_protected(connection.info.listener_name)
        ]
        staying = [connection for connection in clients if not connection.is_ending]
        to_close = staying[: max(0, excess - (len(clients) - len(staying)))]
        if len(to_close) > 1:
            logger.info("Closing %d connections, the longest idle ones: max.connections is reached", len(to_close))
        for connection in to_close:
            if len(to_close) == 1:
                logger.info("Closing %s, the longest idle one: max.connections is reached", connection.info)
            connection.abort()


class _Origin:
    """One endpoint: makes its connections, with the sender that fits its security protocol."""

    def __init__(self, listeners: Listeners, endpoint: Endpoint, new_sender: RegionSenderFactory) -> None:
        self._listeners = listeners
        self._endpoint = endpoint
        self.new_sender = new_sender

    def new_connection(self) -> asyncio.BufferedProtocol:
        connection = Connection(self._listeners._resources, self)
        add_layer = self._endpoint.security.add_layer
        return connection if add_layer is None else add_layer(connection, connection.authenticated)

    def frame_gate(self, info: ConnectionInfo) -> FrameGate | None:
        new_gate = self._endpoint.security.new_gate
        return None if new_gate is None else self._listeners.gate_around(info, new_gate(info))

    def connected(self, connection: Connection, transport: Transport) -> ConnectionInfo:
        return self._listeners.connected(connection, transport, self._endpoint)

    def disconnected(self, connection: Connection) -> None:
        self._listeners.disconnected(connection)


def _host_and_port(address: Any) -> tuple[str, int]:
    """Host and port of a socket's address; a peer that is gone already has none."""
    return (str(address[0]), int(address[1])) if address else ("unknown", 0)


def nothing_more(listeners: Listeners, topic_name: Callable[[UUID], str | None]) -> None:
    """In place of a function that follows the listeners."""


def _abort(connection: Connection) -> bool:
    """Turn a new connection away, because the listeners close."""
    connection.abort()
    return True
