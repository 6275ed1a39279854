"""Tests of brokers on three ZooKeeper servers, one of which dies, with stock clients.

Sessions last longer than a test, so a dead broker is noticed only because its session guard ended its session; the
guard must find a living server. The test fails without guards, and with guards that try only the first server.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.load.cluster_faults import a_leader, dead
from support.load.loaded_cluster import LoadedCluster
from support.processes.zookeeper_ensemble import ZooKeeperEnsemble

LONGER_THAN_ANY_TEST_MS = "3600000"


@pytest.fixture
def ensemble(tmp_path: Path) -> Iterator[ZooKeeperEnsemble]:
    settings = {"forceSync": "no", "maxSessionTimeout": LONGER_THAN_ANY_TEST_MS}
    ensemble = ZooKeeperEnsemble(tmp_path / "zookeeper", settings).start()
    yield ensemble
    ensemble.kill()


def test_cluster_continues_without_the_zookeeper_leader_and_notices_a_dead_broker(
    ensemble: ZooKeeperEnsemble, tmp_path: Path
) -> None:
    settings = {"zookeeper.session.timeout.ms": LONGER_THAN_ANY_TEST_MS}
    with LoadedCluster(tmp_path / "brokers", f"{ensemble.connect()}/kafka", seed=1, settings=settings) as cluster:
        cluster.begin_load()
        before = _sessions(cluster)
        ensemble.servers[ensemble.leader()].kill()
        cluster.await_progress()  # topics are created and deleted, too
        assert _sessions(cluster) == before
        with dead(cluster, a_leader(cluster)):
            cluster.await_progress()
        cluster.check_health()
        cluster.end_load()


def _sessions(cluster: LoadedCluster) -> dict[str, int]:
    """Returns the session of each registered broker. The controller's node is not used: after a write with unknown
    result a controller begins a new term in the same session.
    """
    return {node: made_at for node, made_at in cluster.registrations().items() if node != "/controller"}
