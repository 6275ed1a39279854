"""A cluster of brokers on a real ZooKeeper, stock clients at work, and one fault after the other.

What is checked, `support.load.cluster_promises` has tests of. Seen to fail with a leader that acknowledges before the
followers have it ("cut_off_from_all": out of order sequence numbers, for what came before is lost), and with a
coordinator that drops the offsets when it reads its partition ("leader_is_killed": those of the keepers).
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
def test_nothing_acknowledged_is_lost_when(
    fault: Fault, tmp_path: Path, zookeeper: ZooKeeperProcess, tree: str
) -> None:
    brokers = 4 if fault is a_leader_is_cut_off_from_its_controller else 3  # a controller that replicates nothing
    with LoadedCluster(tmp_path, tree, seed=FAULTS.index(fault), brokers=brokers) as cluster:
        cluster.begin_load(enough_in_sync=2 if fault is a_log_directory_is_taken_away else 1)
        with fault(cluster, zookeeper):
            cluster.await_progress()
        cluster.check_health()
        cluster.end_load()
