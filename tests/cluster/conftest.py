"""Clusters: three brokers on the test's loop, or a ZooKeeper, in which each test's cluster has its own tree."""

from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path

import pytest
from support.in_process.broker_cluster import BrokerCluster
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.served_tree import ServedTree

TREES = count()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper")).start()
    yield process
    process.kill()


@pytest.fixture(scope="session")
def served_tree() -> Iterator[ServedTree]:
    served = ServedTree()
    yield served
    served.close()


@pytest.fixture
def tree(served_tree: ServedTree) -> str:
    """Returns the `zookeeper.connect` of an unused tree, as of a running ZooKeeper."""
    return f"{served_tree.connect}/cluster-{next(TREES)}"


@pytest.fixture
def java_tree(zookeeper: ZooKeeperProcess) -> str:
    """Returns the `zookeeper.connect` of an unused tree in a real ZooKeeper."""
    return f"{zookeeper.connect}/cluster-{next(TREES)}"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    cluster = BrokerCluster(tmp_path)
    yield cluster
    await cluster.close()
