"""Tests of a cluster on a real ZooKeeper with stock clients and one fault after another.

The checks themselves are tested in `test_cluster_promises`. The test fails with a leader that acknowledges before its
followers have the record (`cut_off_from_all`), and with a coordinator that drops offsets when it loads its partition
(`leader_is_killed`).
"""

from pathlib import Path

import pytest
from support.load.cluster_faults import (
    FAULTS,
    Fault,
    a_leader_is_cut_off_from_its_controller,
    a_log_directory_is_taken_away,
)
from support.load.loaded_cluster import LoadedCluster
from support.processes.kafka_process import ZooKeeperProcess


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_no_acknowledged_record_is_lost_after_fault(
    fault: Fault, tmp_path: Path, zookeeper: ZooKeeperProcess, tree: str
) -> None:
    brokers = (
        4 if fault is a_leader_is_cut_off_from_its_controller else 3
    )  # the fourth broker is a controller without replicas
    with LoadedCluster(tmp_path, tree, seed=FAULTS.index(fault), brokers=brokers) as cluster:
        cluster.begin_load(enough_in_sync=2 if fault is a_log_directory_is_taken_away else 1)
        with fault(cluster, zookeeper):
            cluster.await_progress()
        cluster.check_health()
        cluster.end_load()
