"""Three brokers of one cluster on a loop of their own, for tests that block, such as those with a browser."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.library.loop_thread import LoopThread
from support.in_process.broker_cluster import BrokerCluster, until

__all__ = ["ThreeBrokers", "three_brokers"]

_IDS = (1, 2, 3)


class ThreeBrokers:
    """The methods may be called from any thread but the loop's."""

    def __init__(self, thread: LoopThread, cluster: BrokerCluster) -> None:
        self._thread = thread
        self._cluster = cluster

    @property
    def bootstrap_servers(self) -> str:
        """The addresses of the brokers that run."""
        servers = self._cluster.servers
        return ",".join(f"127.0.0.1:{servers[each].endpoints[0].port}" for each in _IDS if each in servers)

    @property
    def http_urls(self) -> list[str]:
        ports = (self._cluster.servers[each].observability.endpoints[0].port for each in _IDS)
        return [f"http://127.0.0.1:{port}" for port in ports]

    def fill(self, topic: str, partitions: int, records: int) -> None:
        """Creates a topic with three replicas and writes so many records, in turn to its partitions."""
        self._thread.call(self._fill(topic, partitions, records))

    def create(self, topic: str, *assignments: list[int]) -> None:
        """Creates a topic with one partition for each list of brokers."""
        self._thread.call(self._cluster.create_topic(topic, *assignments))

    def kill(self, broker_id: int) -> None:
        """Kills a broker; the others learn it at once."""
        self._thread.call(self._kill(broker_id))

    async def _fill(self, topic: str, partitions: int, records: int) -> None:
        cluster = self._cluster
        leaders = [_IDS[number % 3 :] + _IDS[: number % 3] for number in range(partitions)]
        await cluster.create_topic(topic, *map(list, leaders))
        for number in range(partitions):
            at, leader = TopicPartition(topic, number), leaders[number][0]
            await until(lambda at=at, leader=leader: cluster.leader_of(at) == leader, f"{at} is led")  # type: ignore[misc]
            values = [str(each).encode() for each in range(number, records, partitions)]
            await cluster.produce(leader, at, *values)

    async def _kill(self, broker_id: int) -> None:
        await self._cluster.kill(broker_id)
        self._cluster.expire(broker_id)


@contextmanager
def three_brokers(directory: Path, settings: Mapping[str, str] | None = None) -> Iterator[ThreeBrokers]:
    thread = LoopThread("three brokers")
    try:
        cluster = thread.call(_started(directory, settings or {}))
        try:
            yield ThreeBrokers(thread, cluster)
        finally:
            thread.call(cluster.close())
    finally:
        thread.close()


async def _started(directory: Path, settings: Mapping[str, str]) -> BrokerCluster:
    cluster = BrokerCluster(directory, {"pybroker.http.listeners": "HTTP://127.0.0.1:0", **settings})
    await cluster.start(*_IDS)
    return cluster
