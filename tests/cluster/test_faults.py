"""Tests of a cluster with stock clients and one fault after another.

The checks themselves are tested in `test_cluster_promises`. The test fails with a leader that acknowledges before its
followers have the record (`cut_off_from_all`), and with a coordinator that drops offsets when it loads its partition
(`leader_is_killed`).
"""

import logging
from pathlib import Path

import pytest
from support.load.cluster_faults import (
    FAULTS,
    Fault,
    a_leader_is_cut_off_from_its_controller,
    a_log_directory_is_taken_away,
)
from support.load.loaded_cluster import LoadedCluster, OwnZooKeeper


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
@pytest.mark.parametrize("place", ["threads", pytest.param("ZooKeeper in Java", marks=pytest.mark.long)])
def test_no_acknowledged_record_is_lost_after_fault(
    fault: Fault, place: str, tmp_path: Path, request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pybroker")  # a fault looks for a line of this level
    is_java = place != "threads"
    brokers = (
        4 if fault is a_leader_is_cut_off_from_its_controller else 3
    )  # the fourth broker is a controller without replicas
    tree = request.getfixturevalue("java_tree") if is_java else None
    with LoadedCluster(tmp_path, tree, seed=FAULTS.index(fault), brokers=brokers) as cluster:
        zookeeper = request.getfixturevalue("zookeeper") if is_java else OwnZooKeeper(cluster.cluster)
        cluster.begin_load(enough_in_sync=2 if fault is a_log_directory_is_taken_away else 1)
        with fault(cluster, zookeeper):
            cluster.await_progress()
        cluster.check_health()
        cluster.end_load()
