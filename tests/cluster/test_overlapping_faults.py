"""Tests of four brokers with stock clients, and two faults at a time.

`test_random_faults` covers all possible pairs.
"""

import logging
from pathlib import Path

import pytest
from support.load.cluster_faults import leader_is_killed, two_brokers_are_cut_off_from_each_other, zookeeper_is_away
from support.load.fault_pairs import Pair, bring_about_both
from support.load.loaded_cluster import LoadedCluster, OwnZooKeeper


@pytest.mark.parametrize(
    "pair",
    [(zookeeper_is_away, leader_is_killed), (two_brokers_are_cut_off_from_each_other, leader_is_killed)],
    ids=lambda pair: " while ".join(fault.__name__ for fault in pair),
)
def test_no_acknowledged_record_is_lost_after_two_faults(
    pair: Pair, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pybroker")
    with LoadedCluster(tmp_path, None, seed=1, brokers=4) as cluster:
        zookeeper = OwnZooKeeper(cluster.cluster)
        cluster.begin_load()
        bring_about_both(pair, cluster, zookeeper, meanwhile=cluster.await_progress)
        cluster.check_health()
        cluster.end_load()
