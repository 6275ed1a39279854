"""Tests of a cluster with stock clients and one fault after another: all faults in long runs, else those whose like no
other test of this folder has.

The checks themselves are tested in `test_cluster_promises`. The tests fail with a leader that acknowledges before its
followers have the record (`cut_off_from_all`), and with a coordinator that drops offsets when it loads its partition
(`leader_is_killed`).
"""

import logging
from pathlib import Path

import pytest
from support.load import cluster_faults
from support.load.cluster_faults import FAULTS, Fault
from support.load.loaded_cluster import LoadedCluster, OwnZooKeeper, StoppableZooKeeper
from support.processes.kafka_process import ZooKeeperProcess

KILLS: tuple[Fault, ...] = (
    cluster_faults.leader_is_killed,
    cluster_faults.all_are_killed,
    cluster_faults.a_broker_comes_back_empty,
)
SILENCE_AND_MOVES: tuple[Fault, ...] = (
    cluster_faults.leader_is_paused_past_its_session,
    cluster_faults.a_broker_is_cut_off_from_all,
    cluster_faults.partitions_are_moved,
)
OF_FOUR_BROKERS: tuple[Fault, ...] = (
    cluster_faults.two_brokers_are_cut_off_from_each_other,
    cluster_faults.partitions_are_moved,
    cluster_faults.a_leader_is_cut_off_from_its_controller,
)
"""The fourth broker is a controller without replicas, or gets some."""
WITH_TWO_IN_SYNC: tuple[Fault, ...] = (cluster_faults.a_log_directory_is_taken_away,)


def run(cluster: LoadedCluster, zookeeper: StoppableZooKeeper, faults: tuple[Fault, ...]) -> None:
    """Runs one fault after another under one load, with checks after each and more at the end."""
    cluster.begin_load(enough_in_sync=2 if faults == WITH_TWO_IN_SYNC else 1)
    for fault in faults:
        try:
            with fault(cluster, zookeeper):
                cluster.await_progress()
            cluster.check_health()
        except BaseException as error:
            error.add_note(f"the fault: {fault.__name__}")
            raise
    cluster.end_load()


@pytest.mark.parametrize(
    ("brokers", "rounds"),
    [(3, (KILLS, WITH_TWO_IN_SYNC)), (4, (SILENCE_AND_MOVES,))],
    ids=["kills", "silence and moves"],
)
def test_no_acknowledged_record_is_lost_after_faults(
    brokers: int, rounds: tuple[tuple[Fault, ...], ...], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pybroker")  # a fault looks for a line of this level
    with LoadedCluster(tmp_path, None, seed=len(rounds[0]), brokers=brokers) as cluster:
        for faults in rounds:
            run(cluster, OwnZooKeeper(cluster.cluster), faults)


@pytest.mark.long
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_no_acknowledged_record_is_lost_after_fault_with_zookeeper_in_java(
    fault: Fault, tmp_path: Path, zookeeper: ZooKeeperProcess, java_tree: str
) -> None:
    brokers = 4 if fault in OF_FOUR_BROKERS else 3
    with LoadedCluster(tmp_path, java_tree, seed=FAULTS.index(fault), brokers=brokers) as cluster:
        run(cluster, zookeeper, WITH_TWO_IN_SYNC if fault in WITH_TWO_IN_SYNC else (fault,))
