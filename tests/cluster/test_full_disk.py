"""Three brokers with small disks, one of which is filled by another file: others lead until there is space.

Needs the permission to mount a tmpfs. Producers are idempotent, with several batches in flight.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.load.steady_producers import (
    JavaSteadyProducer,
    LibrdkafkaSteadyProducer,
    SteadyProducer,
    found_records,
)
from support.processes.cluster_processes import ClusterProcesses
from support.processes.small_disk import fill_up, small_disk
from support.time.patience import await_that

TOPIC = "filled"
PARTITIONS = 3
DISK_BYTES = 8 << 20
MEANWHILE = 100
"""Records that each partition acknowledges while the disk is full."""
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "log.index.size.max.bytes": "100000",
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "zookeeper.session.timeout.ms": "6000",
}

StartProducer = Callable[[ClusterProcesses], SteadyProducer]


def librdkafka(cluster: ClusterProcesses, partitions: int = PARTITIONS) -> SteadyProducer:
    return LibrdkafkaSteadyProducer(cluster.servers, TOPIC, partitions)


def java(cluster: ClusterProcesses, partitions: int = PARTITIONS) -> SteadyProducer:
    return JavaSteadyProducer(cluster.servers, TOPIC, partitions)


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def fill_and_empty_disk_of_broker_1(cluster: ClusterProcesses, producer: SteadyProducer) -> None:
    """Fills the disk that has broker 1's replica of partition 0, and empties it.

    Checks that others lead its partitions while it is full, that broker 1 stays in sync with all others, and that it
    leads again when there is space.
    """
    disk = next(disk for disk in cluster.log_directories[1] if (disk / f"{TOPIC}-0").exists())
    here: list[int] = []
    elsewhere: list[int] = []
    for partition in range(len(producer.acknowledged.numbers)):
        (here if (disk / f"{TOPIC}-{partition}").exists() else elsewhere).append(partition)
    filler = disk / "filler"
    fill_up(filler)
    await_that(lambda: is_out(cluster, 1, here), "broker 1 neither leads nor is in sync")
    producer.acknowledged.await_more(MEANWHILE, "every partition takes records while the disk is full")
    assert is_out(cluster, 1, here)
    assert all(1 in cluster.state(TOPIC, partition)[1] for partition in elsewhere)
    filler.unlink()
    await_in_sync(cluster, *here, *elsewhere)
    cluster.elect_preferred(TOPIC, 0)
    producer.acknowledged.await_more(MEANWHILE, "every partition takes records again")


def small_cluster(stack: ExitStack, directory: Path, *kafkas: int, disks: int = 1) -> ClusterProcesses:
    """Brokers 1, 2 and 3 with so many small disks each; each leads as many partitions. Broker 3 is the controller."""
    cluster = ClusterProcesses(directory, 3, SETTINGS, kafkas, disks)
    for paths in cluster.log_directories.values():
        for path in paths:
            stack.enter_context(small_disk(path, DISK_BYTES))
    stack.callback(cluster.close)
    cluster.start(3)
    cluster.start(1, 2)
    cluster.await_brokers()
    assignments = ((1, 2, 3), (2, 3, 1), (3, 1, 2)) * disks
    cluster.create_topic(TOPIC, *assignments)
    await_in_sync(cluster, *range(len(assignments)))
    return cluster


def await_in_sync(cluster: ClusterProcesses, *partitions: int) -> None:
    for partition in partitions:
        cluster.await_in_sync(TOPIC, partition)


def is_out(cluster: ClusterProcesses, broker_id: int, partitions: Iterable[int]) -> bool:
    states = [cluster.state(TOPIC, partition) for partition in partitions]
    return all(broker_id not in (leader, *isr) for leader, isr in states)


def check_records(cluster: ClusterProcesses, producer: SteadyProducer, record: Callable[[str, object], None]) -> None:
    """Nothing acknowledged is lost, nothing is in the log twice or out of order."""
    gaps = ", ".join(f"{gap:.2f} s" for gap in producer.acknowledged.longest_gaps_s())
    found = found_records(cluster.servers, TOPIC, producer.acknowledged)
    record("figures", f"longest gaps of the partitions {gaps}; {found}")
    assert not producer.acknowledged.failed
    assert all(each.is_right for each in found), found


@pytest.mark.parametrize("start_producer", [librdkafka, pytest.param(java, marks=pytest.mark.long)])
def test_partitions_of_a_full_disk_are_led_elsewhere_until_there_is_space(
    start_producer: StartProducer,
    tmp_path: Path,
    stack: ExitStack,
    record_property: Callable[[str, object], None],
) -> None:
    cluster = small_cluster(stack, tmp_path)
    producer = start_producer(cluster)
    producer.acknowledged.await_more(MEANWHILE, "the producer has begun")
    for _ in range(2):
        fill_and_empty_disk_of_broker_1(cluster, producer)
    producer.stop()
    check_records(cluster, producer, record_property)
    for broker in cluster.brokers.values():
        assert not any("is offline" in line for line in broker.lines)


def test_full_directory_of_several_is_left_and_the_others_are_not(
    tmp_path: Path, stack: ExitStack, record_property: Callable[[str, object], None]
) -> None:
    cluster = small_cluster(stack, tmp_path, disks=3)
    producer = librdkafka(cluster, 3 * PARTITIONS)
    producer.acknowledged.await_more(MEANWHILE, "the producer has begun")
    fill_and_empty_disk_of_broker_1(cluster, producer)
    producer.stop()
    check_records(cluster, producer, record_property)
    lines = [line for line in cluster.brokers[1].lines if "no space left in log directory" in line]
    assert len(lines) == 1, lines
    assert "with 3 logs" in lines[0]


def test_partitions_wait_for_space_while_all_disks_are_full(
    tmp_path: Path, stack: ExitStack, record_property: Callable[[str, object], None]
) -> None:
    cluster = small_cluster(stack, tmp_path)
    producer = librdkafka(cluster)
    producer.acknowledged.await_more(MEANWHILE, "the producer has begun")
    fillers = [disk / "filler" for disks in cluster.log_directories.values() for disk in disks]
    for filler in fillers:
        fill_up(filler)
    await_that(
        lambda: all(len(cluster.state(TOPIC, partition)[1]) == 1 for partition in range(PARTITIONS)),
        "one replica of each partition is left",
    )
    for filler in fillers:
        filler.unlink()
    await_in_sync(cluster, *range(PARTITIONS))
    producer.acknowledged.await_more(MEANWHILE, "every partition takes records again")
    producer.stop()
    check_records(cluster, producer, record_property)


def test_kafka_as_controller_elects_others_for_a_full_disk_of_pybroker(
    tmp_path: Path, stack: ExitStack, record_property: Callable[[str, object], None]
) -> None:
    cluster = small_cluster(stack, tmp_path, 3)
    producer = librdkafka(cluster)
    producer.acknowledged.await_more(MEANWHILE, "the producer has begun")
    fill_and_empty_disk_of_broker_1(cluster, producer)
    producer.stop()
    check_records(cluster, producer, record_property)
