"""Fixtures of the metadata store's suite, of a real ZooKeeper, and of a control plane; asserts of the suite explain
themselves as those of test files do.
"""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from support.in_process.control_plane import ControlPlane
from support.processes.kafka_process import ZooKeeperProcess

pytest.register_assert_rewrite("support.in_process.metadata_store_suite")

from support.in_process.metadata_store_suite import store  # noqa: E402

__all__ = ["plane", "store"]


@pytest.fixture(scope="session")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    """A real ZooKeeper for all tests of this folder; each uses nodes of its own."""
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper")).start()
    yield process
    process.kill()


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """Three brokers, a topic of two partitions that brokers 2 and 3 hold; 2 leads the first, 3 the second."""
    started = await ControlPlane.start(tmp_path / "metadata.db", (1, 2, 3))
    await started.create_topic("t", {0: (2, 3), 1: (3, 2)})
    await started.settled()
    yield started
    await started.stop()
