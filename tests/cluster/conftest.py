"""Clusters: three brokers in this process, or a real ZooKeeper, in which each test's cluster has its own tree."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest
from support.in_process.broker_cluster import BrokerCluster
from support.processes.kafka_process import ZooKeeperProcess

TREES = count()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper"), {"forceSync": "no"}).start()
    yield process
    process.kill()


@pytest.fixture
def tree(zookeeper: ZooKeeperProcess) -> str:
    """Returns the `zookeeper.connect` of an unused tree."""
    return f"{zookeeper.connect}/cluster-{next(TREES)}"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    cluster = BrokerCluster(tmp_path)
    yield cluster
    await cluster.close()
