"""Brokers on three ZooKeepers, of which one dies, with stock clients at work.

Sessions last for longer than any test may: who is missed was ended by its guard, which has to find a server that lives.
Seen to fail without guards, and with guards that try the first server alone.
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


def test_cluster_goes_on_without_the_server_that_led_and_misses_who_dies_then(
    ensemble: ZooKeeperEnsemble, tmp_path: Path
) -> None:
    settings = {"zookeeper.session.timeout.ms": LONGER_THAN_ANY_TEST_MS}
    with LoadedCluster(tmp_path / "brokers", f"{ensemble.connect()}/kafka", seed=1, settings=settings) as cluster:
        cluster.begin_load()
        before = _sessions(cluster)
        ensemble.servers[ensemble.leader()].kill()
        cluster.await_progress()  # topics are made and deleted, too
        assert _sessions(cluster) == before
        with dead(cluster, a_leader(cluster)):
            cluster.await_progress()
        cluster.check_health()
        cluster.end_load()


def _sessions(cluster: LoadedCluster) -> dict[str, int]:
    """By what they have registered. Not the controller's node: who does not know what became of a write, because the
    connection broke, begins another term, in the same session."""
    return {node: made_at for node, made_at in cluster.registrations().items() if node != "/controller"}
