"""The result of ``with Cluster(…)``: a cluster for code without an event loop."""

import secrets
import tempfile
import time
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, ParamSpec, TypeVar

from ....config.config_error import ConfigError
from ....config.http_listeners import HTTP_LISTENERS, TEST_KIT
from ....protocol.client import Credentials
from ...clock.clocks import BlockingClock, TestClock
from ...faults.faults import Faults
from ...metadata.address import Address
from ..broker_probe import UnhealthyError, metadata_of
from ..inspection.request_ring import RequestRing
from ..loop_thread import LoopThread
from ..settings_from_mapping import SettingsMapping, config_from_mapping
from ..throwaway_certificates import ThrowawayCertificates, check_library, store_settings
from ..user_settings import store_users, users_of_listeners
from .children import Children
from .cluster_acts import ClusterActs
from .cluster_broker import BrokerOfCluster
from .copies import copies_in
from .kit_client import KitClient
from .member import Member
from .members import BrokerMember, ZooKeeperMember
from .memory_zookeeper import MemoryZooKeeper
from .mode import Mode, mode_of
from .ports import HOST, free_ports, give_back
from .remote_faults import RemoteFaults
from .tcp_proxies import ProxyTls, TcpProxies
from .thread_broker import ThreadBroker
from .zookeeper_jars import find_jars, find_java

if TYPE_CHECKING:
    import ssl

__all__ = ["BlockingCluster", "MemberName"]

MemberName = int | Literal["zookeeper"]
_BROKERS = "brokers"
"""The user that brokers log in as."""
ZOOKEEPER: Literal["zookeeper"] = "zookeeper"
_JAVA = "java"

_LISTENERS = "CLIENTS://{host}:{clients},BROKERS://{host}:{brokers}"
_OWN = (
    "broker.id",
    "listeners",
    "advertised.listeners",
    "listener.security.protocol.map",
    "inter.broker.listener.name",
    "zookeeper.connect",
)
_DEFAULT_ZOOKEEPER_PORT = 2181
_ASK_TIMEOUT_S = 5.0
_BETWEEN_LOOKS_S = 0.02
_GOODBYES_S = 1.0

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


class BlockingCluster:
    """Methods block until they are done, and may be called from any thread."""

    def __init__(
        self,
        brokers: int,
        settings: SettingsMapping | None = None,
        *,
        directory: str | Path | None = None,
        zookeeper: str | None = None,
        zookeeper_jars: str | Path | None = None,
        tls: bool = False,
        users: Mapping[str, str] | None = None,
        mode: Mode | None = None,
        http: bool = False,
    ) -> None:
        """``http``: each broker has an HTTP endpoint on a free port."""
        if zookeeper_jars is not None and zookeeper is None:
            zookeeper = _JAVA
        self.mode: Mode = mode_of(mode, zookeeper)
        if brokers < 1:
            raise ValueError(f"a cluster needs at least one broker, not {brokers}")
        for name in _OWN:
            if name in (settings or {}):
                raise ConfigError(f"{name} (given to Cluster): the cluster chooses it itself")
        self._count = brokers
        self._settings = dict(settings or {})
        self._login: Credentials | None = None
        self._users = dict(users or {})
        if users is not None:
            self._login = Credentials("PLAIN", _BROKERS, secrets.token_urlsafe())
            self._settings |= users_of_listeners(users, ("CLIENTS", "BROKERS"), self._login)
        self._given_directory = None if directory is None else Path(directory).absolute()
        self._given_zookeeper = None if zookeeper == _JAVA else zookeeper
        self._has_java = zookeeper == _JAVA
        self._zookeeper_jars = None if zookeeper_jars is None else Path(zookeeper_jars).absolute()
        self._http_ports: dict[int, int] = {}
        if tls:
            check_library()
        self._has_tls = tls
        config = config_from_mapping(_for_broker(1, {**self._settings, **self._listeners(0, 0)}), "Cluster")
        self._has_test_kit = config.boolean(TEST_KIT)
        self._has_http = (http or self._has_test_kit) and HTTP_LISTENERS not in self._settings
        self._certificates: ThrowawayCertificates | None = None
        self._temporary: tempfile.TemporaryDirectory[str] | None = None
        self._thread: LoopThread | None = None
        self._proxies = TcpProxies()
        self._brokers: dict[int, BrokerMember | ThreadBroker] = {}
        self._zookeeper: ZooKeeperMember | MemoryZooKeeper | None = None
        self._client_ports: dict[int, int] = {}
        self._ports: list[int] = []
        self.faults = Faults() if self.mode == "thread" else RemoteFaults(self._kits)
        """Faults for tests of clients, on all brokers. Brokers in processes need ``pybroker.test.kit=true``."""
        self._clock = TestClock()
        self.keep_requests = 0
        """How many of its last requests each broker on a thread keeps; set it before the cluster starts."""

    # -- properties

    @property
    def acts(self) -> ClusterActs:
        """Acts of tests on brokers. Brokers in processes need ``pybroker.test.kit=true``."""
        return ClusterActs(lambda: [each for each in self._brokers.values() if each.is_responsive], self._broker)

    @property
    def brokers(self) -> Mapping[int, BrokerOfCluster]:
        """All brokers by id, running or not: ``cluster.brokers[2].faults`` has the faults of one."""
        faults, address = self.faults, self.bootstrap_server
        return {each: BrokerOfCluster(each, address(each), faults.on(each)) for each in self._brokers}

    @property
    def clock(self) -> BlockingClock:
        """Moves the time of all brokers, without those that are paused. Raises RuntimeError with ``mode="process"``."""
        return BlockingClock(self.test_clock)

    @property
    def test_clock(self) -> TestClock:
        """As ``clock``, for coroutines."""
        if self.mode == "process":
            raise RuntimeError("brokers in processes of their own keep to real time; use Cluster(mode='thread')")
        return self._clock

    @property
    def broker_ids(self) -> list[int]:
        """The ids of all brokers, from 1, running or not."""
        return list(range(1, self._count + 1))

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of each broker, separated by commas; they stay the same."""
        return ",".join(f"{HOST}:{self._client_port(broker)}" for broker in self.broker_ids)

    def bootstrap_server(self, broker: int) -> str:
        """``host:port`` of one broker."""
        return f"{HOST}:{self._client_port(broker)}"

    def http_url(self, broker: int) -> str | None:
        """The address of the broker's HTTP endpoint; None unless the cluster runs with ``http``."""
        port = self._http_ports.get(broker) if self._has_http else None
        return None if port is None else f"http://{HOST}:{port}"

    @property
    def zookeeper(self) -> str:
        """The value of ``zookeeper.connect`` for tools, without a proxy that can be cut."""
        if self._given_zookeeper is not None:
            return self._given_zookeeper
        if self._zookeeper is None:
            raise RuntimeError("the cluster was not started")
        return f"{HOST}:{self._zookeeper.port}"

    @property
    def ca_file(self) -> Path:
        """With ``tls=True``: the file with the certificate that clients must trust, in PEM."""
        if self._certificates is None:
            raise RuntimeError("the cluster has no certificates: it was not started, or has no tls=True")
        return self._certificates.ca_file

    def is_running(self, member: MemberName) -> bool:
        """Whether it runs; also True while it is paused."""
        return self._member(member).is_running

    def pid(self, member: MemberName) -> int | None:
        """The process id; None while it does not run. Raises RuntimeError if it has no process of its own."""
        return self._member(member).pid

    def data_directory(self, broker: int) -> Path:
        """The first of the broker's ``log.dirs``, with files in Kafka's layout."""
        member = self._broker(broker)
        return member.directory / member.settings["log.dirs"].split(",")[0].strip()

    def log_file(self, member: MemberName) -> Path:
        """The file with its output, or on a thread its log lines, since the cluster began."""
        return self._member(member).log_file

    def thread_broker(self, broker: int) -> ThreadBroker:
        """A broker on a thread. Raises RuntimeError if the brokers have processes of their own."""
        found = self._broker(broker)
        if not isinstance(found, ThreadBroker):
            raise RuntimeError("acts need brokers on threads; Cluster(mode='thread') has them")
        return found

    # -- operations

    def start(self, member: MemberName) -> None:
        """Start it with the same data and port; returns when it is ready. Raises StartError."""
        starting = self._member(member)
        starting.begin()
        starting.wait_until_ready()
        if member != ZOOKEEPER and isinstance(self.faults, RemoteFaults):
            self.faults.broker_started(member)

    def stop(self, member: MemberName) -> None:
        """As SIGTERM: a broker hands over its leaderships first. Harmless when it does not run."""
        self._count_a_last_time(member)
        self._member(member).stop()

    def kill(self, member: MemberName) -> None:
        """As ``kill -9``. Harmless when it does not run."""
        self._count_a_last_time(member)
        self._member(member).kill()

    def pause(self, member: MemberName) -> None:
        """As SIGSTOP: it does nothing, but its connections stay. Raises RuntimeError when it does not run."""
        self._member(member).pause()

    def resume(self, member: MemberName) -> None:
        """As SIGCONT. Harmless when it was not paused."""
        self._member(member).resume()

    def cut(self, one: MemberName, other: MemberName) -> None:
        """Stop all traffic between two brokers, or a broker and ZooKeeper; the connections stay open."""
        ends = self._ends(one, other)
        if (zookeeper := self._zookeeper_of_threads(ends)) is not None:
            zookeeper.link(_broker_of(ends)).cut()
        else:
            self._on_wires(self._proxies.cut, *ends)

    def heal(self, one: MemberName, other: MemberName) -> None:
        """Deliver the data sent since ``cut``, and all further data. Harmless when it was not cut."""
        ends = self._ends(one, other)
        if (zookeeper := self._zookeeper_of_threads(ends)) is not None:
            zookeeper.link(_broker_of(ends)).heal()
        else:
            self._on_wires(self._proxies.heal, *ends)

    def expire(self, broker: int) -> None:
        """End a broker's session with the metadata store before its timeout; it registers again with a new session.
        Raises RuntimeError if the cluster uses a real ZooKeeper, or the broker is not registered."""
        self._broker(broker)
        if not isinstance(self._zookeeper, MemoryZooKeeper):
            raise RuntimeError("a real ZooKeeper ends no session on request; a cluster without `zookeeper` does")
        self._zookeeper.expire(broker)

    # -- start and stop

    def __enter__(self) -> "BlockingCluster":
        if self._thread is not None:
            raise RuntimeError("the cluster is already running")
        self._thread = LoopThread("pybroker-cluster")
        try:
            self._start()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def _start(self) -> None:
        directory = self._given_directory or self._make_directory()
        if self._has_tls:
            self._certificates = certificates = _new_certificates(directory)
            tls = ProxyTls(certificates.server_context("proxies"), certificates.client_context())
            self._proxies = TcpProxies(tls)
        if self._given_zookeeper is None:
            self._zookeeper = self._new_zookeeper(directory / ZOOKEEPER)
            self.start(ZOOKEEPER)
        if self._users:
            self._on_wires(store_users, self.zookeeper, _for_broker(1, self._settings), self._users)
        self._ports = free_ports(3 * self._count)
        ports = list(self._ports)
        for broker in self.broker_ids:
            self._client_ports[broker] = ports.pop()
            self._http_ports[broker] = ports.pop()
            self._brokers[broker] = self._new_broker(broker, directory / f"broker-{broker}", ports.pop())
        for starting in self._brokers.values():
            starting.begin()
        for starting in self._brokers.values():
            starting.wait_until_ready()
        for broker in self.broker_ids:
            self._wait_until_it_knows_all(broker)

    def _new_zookeeper(self, directory: Path) -> ZooKeeperMember | MemoryZooKeeper:
        is_kept = self._given_directory is not None
        if self._has_java:
            return ZooKeeperMember(directory, find_java(), find_jars(self._zookeeper_jars), kept=is_kept)
        assert self._thread is not None
        return MemoryZooKeeper(directory, self._thread, is_kept=is_kept)

    def _new_broker(self, broker: int, directory: Path, port: int) -> BrokerMember | ThreadBroker:
        clients, brokers = self._client_ports[broker], self._on_wires(self._proxies.to_broker, broker, port)
        settings = {
            **copies_in(self._count, self._settings),
            "group.initial.rebalance.delay.ms": "0",
            "zookeeper.session.timeout.ms": "6000",
            "controlled.shutdown.retry.backoff.ms": "500",
            "log.dirs": str(self._settings.get("log.dir", directory / "data")),
            HTTP_LISTENERS: f"HTTP://{HOST}:{self._http_ports[broker]}" if self._has_http else "",
            **{name: str(value) for name, value in _for_broker(broker, self._settings).items()},
            "broker.id": str(broker),
            **self._listeners(clients, port),
            "advertised.listeners": _LISTENERS.format(host=HOST, clients=clients, brokers=brokers),
            "zookeeper.connect": self._way_to_zookeeper(broker),
            **self._protection_of(broker),
        }
        if self.mode == "process":
            has_kit = self._has_test_kit and self._has_http
            return BrokerMember(broker, directory, settings, self._http_ports[broker] if has_kit else None)
        assert isinstance(self._zookeeper, MemoryZooKeeper)
        assert isinstance(self.faults, Faults)
        opener = self._zookeeper.store_opener(broker)
        is_durable = self._given_directory is not None or not self._settings.keys().isdisjoint(("log.dir", "log.dirs"))
        made = ThreadBroker(broker, directory, settings, opener, self.faults, self._clock, is_durable=is_durable)
        made.requests = RequestRing(self.keep_requests) if self.keep_requests else None
        return made

    def _listeners(self, clients_port: int, brokers_port: int) -> dict[str, str]:
        protocol = f"{'' if self._login is None else 'SASL_'}{'SSL' if self._has_tls else 'PLAINTEXT'}"
        return {
            "listeners": _LISTENERS.format(host=HOST, clients=clients_port, brokers=brokers_port),
            "listener.security.protocol.map": f"CLIENTS:{protocol},BROKERS:{protocol}",
            "inter.broker.listener.name": "BROKERS",
        }

    def _protection_of(self, broker: int) -> dict[str, str]:
        if self._certificates is None:
            return {}
        key_file = self._certificates.issue(f"broker-{broker}")
        return store_settings(key_file, self._certificates.ca_file)

    def _way_to_zookeeper(self, broker: int) -> str:
        if self.mode == "thread":
            return self.zookeeper  # named in log lines only
        servers, slash, root = self.zookeeper.partition("/")
        ways = []
        for server in servers.split(","):
            host, _, port = server.strip().partition(":")
            address = (host, int(port or _DEFAULT_ZOOKEEPER_PORT))
            ways.append(f"{HOST}:{self._on_wires(self._proxies.from_broker, broker, ZOOKEEPER, *address)}")
        return ",".join(ways) + slash + root

    def _wait_until_it_knows_all(self, broker: int) -> None:
        """Wait until the broker knows all others, so that a topic can have a replica on each. Raises StartError."""
        address, tls = Address(HOST, self._client_port(broker)), self._client_context()
        while True:
            for member in self._brokers.values():
                member.wait_until_ready()
            with suppress(UnhealthyError):
                if len(metadata_of(address, _ASK_TIMEOUT_S, tls, self._login).brokers) == self._count:
                    return
            time.sleep(_BETWEEN_LOOKS_S)

    def _client_context(self) -> "ssl.SSLContext | None":
        return None if self._certificates is None else self._certificates.client_context()

    def _close(self) -> None:
        """Stop all members; brokers whose data is kept are stopped cleanly, while ZooKeeper still runs."""
        thread, self._thread = self._thread, None
        try:
            if thread is not None:
                thread.call(self._proxies.heal_all())
            self._end_members(clean=self._given_directory is not None)
        finally:
            self._kill_brokers()
            if self._zookeeper is not None:
                self._zookeeper.close()
            if thread is not None:
                thread.call(self._proxies.close())
                thread.close()
            self._forget()

    def _end_members(self, *, clean: bool) -> None:
        if clean and self._zookeeper is not None and self._zookeeper.is_running:
            self._zookeeper.resume()
        running = [member for member in self._brokers.values() if member.is_running]
        if clean and running:
            with ThreadPoolExecutor(len(running)) as together:
                list(together.map(lambda member: member.stop(), running))

    def _kill_brokers(self) -> None:
        """Kill the brokers, and let their session guards end while ZooKeeper can be reached."""
        running = [broker.pid for broker in self._brokers.values() if isinstance(broker, BrokerMember)]
        children = Children(pid for pid in running if pid is not None)
        for broker in self._brokers.values():
            broker.kill()
        children.end(_GOODBYES_S)

    def _forget(self) -> None:
        self._proxies, self._brokers, self._zookeeper, self._client_ports = TcpProxies(), {}, None, {}
        self._certificates, self._http_ports = None, {}
        give_back(self._ports)
        self._ports = []
        directory, self._temporary = self._temporary, None
        if directory is not None:
            directory.cleanup()

    def _make_directory(self) -> Path:
        self._temporary = tempfile.TemporaryDirectory(prefix="pybroker-cluster-")
        return Path(self._temporary.name)

    # -- internal

    def _broker(self, broker: int) -> BrokerMember | ThreadBroker:
        if broker not in self._brokers:
            raise ValueError(f"the cluster has no broker {broker!r}")
        return self._brokers[broker]

    def _kits(self) -> dict[int, KitClient]:
        """The test kits of the processes that run. Raises RuntimeError if they have none."""
        members = {id_: each for id_, each in self._brokers.items() if isinstance(each, BrokerMember)}
        return {broker: member.kit for broker, member in members.items() if member.is_responsive}

    def _count_a_last_time(self, member: MemberName) -> None:
        if member != ZOOKEEPER and isinstance(self.faults, RemoteFaults):
            self.faults.broker_ends(member)

    def _member(self, name: MemberName) -> Member:
        if name != ZOOKEEPER:
            return self._broker(name)
        if self._zookeeper is None:
            raise ValueError("the cluster has not started ZooKeeper, so it cannot control it")
        return self._zookeeper

    def _client_port(self, broker: int) -> int:
        if broker not in self._client_ports:
            raise RuntimeError("the cluster was not started")
        return self._client_ports[broker]

    def _ends(self, one: MemberName, other: MemberName) -> tuple[MemberName, MemberName]:
        if one == other:
            raise ValueError(f"{one} has no connection to itself")
        for name in (one, other):
            if name != ZOOKEEPER:
                self._broker(name)
        return one, other

    def _zookeeper_of_threads(self, ends: tuple[MemberName, MemberName]) -> MemoryZooKeeper | None:
        """The metadata store, if it is one of the ends and the other end is a broker on a thread."""
        is_between = ZOOKEEPER in ends and self.mode == "thread"
        return self._zookeeper if is_between and isinstance(self._zookeeper, MemoryZooKeeper) else None

    def _on_wires(
        self,
        act: Callable[Arguments, Coroutine[Any, Any, Result]],
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Result:
        if self._thread is None:
            raise RuntimeError("the cluster was not started")
        return self._thread.call(act(*arguments, **named))

    def __repr__(self) -> str:
        running = [str(broker) for broker, member in self._brokers.items() if member.is_running]
        return f"<Cluster of {self._count}, running: {', '.join(running) or 'none'}>"


def _broker_of(ends: tuple[MemberName, MemberName]) -> int:
    (broker,) = (end for end in ends if end != ZOOKEEPER)
    return broker


def _new_certificates(directory: Path) -> ThrowawayCertificates:
    place = directory / "certificates"
    place.mkdir(parents=True, exist_ok=True)
    return ThrowawayCertificates(place)


def _for_broker(broker: int, settings: SettingsMapping) -> SettingsMapping:
    return {
        name: value.replace("{id}", str(broker)) if isinstance(value, str) else value
        for name, value in settings.items()
    }
