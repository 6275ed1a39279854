"""Tests that the checkers find all violations although they check only brokers whose machines ran something."""

from pybroker.replication.partition.hosted_partition import HostedPartition
from simulation.machines.cluster_shape import ClusterShape
from simulation.machines.simulated_cluster import SimulatedCluster
from simulation.machines.virtual_loop import on_host
from simulation.runs.simulation_run import Plan, run_seed

QUIET = Plan(3, duration_s=8.0, fault_count=0, change_count=0, shape=ClusterShape())


def test_violation_that_lasts_one_loop_iteration_is_found() -> None:
    def prepare(cluster: SimulatedCluster) -> None:
        def fall() -> None:
            if cluster.loop.turns % 2:  # in even iterations all brokers may be checked
                cluster.loop.call_soon(fall)
                return
            hosted = next(each for each in cluster.brokers[2].partitions() if _has_records(each))
            before, hosted.partition.high_watermark = hosted.partition.high_watermark, 0
            cluster.loop.call_soon(rise, hosted, before)

        def rise(hosted: HostedPartition, high_watermark: int) -> None:
            hosted.partition.high_watermark = high_watermark

        cluster.loop.call_later(6.0, fall, context=on_host("broker-2"))

    assert "high watermark falls from" in (run_seed(3, QUIET, prepare).violation or "")


def _has_records(hosted: HostedPartition) -> bool:
    return hosted.partition.is_leader and hosted.partition.high_watermark > 0


def test_checking_all_brokers_finds_no_more_than_checking_the_changed_ones() -> None:
    """In a run with faults of all kinds."""
    seen = missed = 0

    def prepare(cluster: SimulatedCluster) -> None:
        watch = cluster.loop.before_turn
        assert watch is not None

        def watch_all() -> None:
            nonlocal seen, missed
            before = cluster.replicas.changes
            watch()
            after = cluster.replicas.changes
            cluster.replicas.check()
            seen += after - before
            missed += cluster.replicas.changes - after

        cluster.loop.before_turn = watch_all

    assert run_seed(20, prepare=prepare).violation is None
    assert seen > 500
    assert missed == 0
