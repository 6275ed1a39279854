"""Fixtures with a real ZooKeeper; each test's cluster has its own tree in it."""

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
    """Returns the `zookeeper.connect` of an unused tree."""
    return f"{zookeeper.connect}/cluster-{next(TREES)}"
