"""A real ZooKeeper for the tests of this folder; each test's cluster has a tree of its own in it."""

from collections.abc import Iterator
from itertools import count

import pytest
from support.processes.kafka_process import ZooKeeperProcess

TREES = count()


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper"), {"forceSync": "no"}).start()
    yield process
    process.kill()


@pytest.fixture
def tree(zookeeper: ZooKeeperProcess) -> str:
    """``zookeeper.connect`` of a cluster that nobody else has."""
    return f"{zookeeper.connect}/cluster-{next(TREES)}"
