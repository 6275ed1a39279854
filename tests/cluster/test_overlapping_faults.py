"""Four brokers on a real ZooKeeper, stock clients at work, and two faults at a time.

All pairs that can be are in `test_random_faults`.
"""

from pathlib import Path

import pytest
from support.load.cluster_faults import leader_is_killed, two_brokers_are_cut_off_from_each_other, zookeeper_is_away
from support.load.fault_pairs import Pair, bring_about_both
from support.load.loaded_cluster import LoadedCluster
from support.processes.kafka_process import ZooKeeperProcess


@pytest.mark.parametrize(
    "pair",
    [(zookeeper_is_away, leader_is_killed), (two_brokers_are_cut_off_from_each_other, leader_is_killed)],
    ids=lambda pair: " while ".join(fault.__name__ for fault in pair),
)
def test_nothing_acknowledged_is_lost_when(pair: Pair, tmp_path: Path, zookeeper: ZooKeeperProcess, tree: str) -> None:
    with LoadedCluster(tmp_path, tree, seed=1, brokers=4) as cluster:
        cluster.begin_load()
        bring_about_both(pair, cluster, zookeeper, meanwhile=cluster.await_progress)
        cluster.check_health()
        cluster.end_load()
