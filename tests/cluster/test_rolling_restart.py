"""Tests of a rolling restart under the load of stock clients, and of the errors that these see.

`scripts/test tests/cluster/test_rolling_restart.py --against-kafka` runs it with three Apache Kafka brokers. The test
requires no more than these give.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.clients.kept_records import read_all
from support.clients.observed_clients import (
    LibrdkafkaMember,
    LibrdkafkaProducing,
    PythonMember,
    PythonProducing,
    kafka_python_warnings,
)
from support.load.cluster_promises import check_idempotent
from support.processes.cluster_processes import ClusterProcesses
from support.time.patience import await_that

TOPIC, GROUP, OFFSETS = "orders", "readers", "__consumer_offsets"
BROKERS = (1, 2, 3)
PARTITIONS = 3
SETTINGS = {
    "min.insync.replicas": "2",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": str(PARTITIONS),
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.retry.backoff.ms": "500",
}
OF_LIBRDKAFKA = {"error _TRANSPORT", "log FAIL"}
"""librdkafka's events: connections to a stopping broker end, and can't be opened until it is back."""
OF_KAFKA_PYTHON = {
    "%s: Connection lost: %s",
    "%s: socket disconnected",
    "%s: Abort (%s)",
    "Connection failed: %s",
    "Metadata refresh: failed %s",
    "Error sending %s to node %s [%s]",
    "%s: Error sending produce request to node %d: %s",
    "%s: Got error produce response on topic-partition %s, retrying (%s attempts left): %s%s",
    "Marking the coordinator dead (node %s) for group %s: %s.",
    "Heartbeat failed for group %s: coordinator (node %s) is either not started or not valid",
    "OffsetCommit for group %s failed: %s",
    "Auto offset commit failed for group %s: %s",
}
"""kafka-python's events: the same, and Kafka's error codes for moved leaders and coordinators. Clients of Apache Kafka
see them too; the last three depend on timing.
"""


@pytest.fixture
def cluster(tmp_path: Path, pytestconfig: pytest.Config) -> Iterator[ClusterProcesses]:
    kafkas = BROKERS if pytestconfig.getoption("--against-kafka") else ()
    cluster = ClusterProcesses(tmp_path, len(BROKERS), SETTINGS, kafkas)
    cluster.start()
    cluster.await_brokers()
    yield cluster
    cluster.close()


class Clients:
    def __init__(self, servers: str) -> None:
        self._producing = LibrdkafkaProducing(servers, TOPIC, PARTITIONS)
        self._member = LibrdkafkaMember(servers, TOPIC, GROUP)
        self.producers = self._producing, PythonProducing(servers, TOPIC, PARTITIONS)
        self.members = self._member, PythonMember(servers, TOPIC, GROUP)
        self.everybody = [*self.producers, *self.members]

    def start(self) -> None:
        """Starts the clients, waits until all work, and clears the errors noticed so far."""
        for each in self.everybody:
            each.start()
        self._await_that_both_read()
        self.await_progress()
        for events in (self._producing.events, self._member.events):
            events.counts.clear()

    def _await_that_both_read(self) -> None:
        def is_shared() -> bool:
            one, other = (member.assigned for member in self.members)
            return bool(one) and bool(other) and not one & other and len(one | other) == PARTITIONS

        self._await(is_shared, "each member has partitions of its own")

    def await_progress(self) -> None:
        """Waits until new records are acknowledged in each partition and each member gets more."""
        for producer in self.producers:
            self._await(producer.further(10), f"{producer.name} goes on")
        for member in self.members:
            self._await(member.further(10), f"{type(member).__name__} goes on")

    def _await(self, condition: Callable[[], bool], what: str) -> None:
        await_that(lambda: condition() or self.failures, what)
        assert not self.failures

    @property
    def failures(self) -> list[str]:
        return [failure for each in self.everybody for failure in each.failures]

    def rebalances(self) -> list[int]:
        return [member.rebalances for member in self.members]

    def librdkafka_events(self) -> Counter[str]:
        """Returns the errors that librdkafka's clients noticed since their start."""
        return self._producing.events.counts + self._member.events.counts

    def timed_out_requests(self) -> int:
        """Returns the timed-out requests of librdkafka's producer."""
        return self._producing.events.total("req_timeouts")

    def stop(self) -> None:
        """Stops the producers, and then the members once they have read everything."""
        for producer in self.producers:
            producer.stop()
        acknowledged = {place for producer in self.producers for place in places_of(producer.offsets)}
        self._await(lambda: acknowledged <= set(self.given()), "all is read")
        for member in self.members:
            member.stop()

    def given(self) -> list[tuple[int, int]]:
        return [place for member in self.members for place in list(member.given)]


def places_of(offsets: dict[int, dict[int, int]]) -> set[tuple[int, int]]:
    return {(partition, offset) for partition, by_number in offsets.items() for offset in by_number.values()}


def test_clients_see_only_moved_leaders_and_coordinators_in_a_rolling_restart(
    cluster: ClusterProcesses, record_property: Callable[[str, object], None]
) -> None:
    cluster.create_topic(TOPIC, [1, 2, 3], [2, 3, 1], [3, 1, 2])
    clients = Clients(cluster.servers)
    clients.start()
    before = clients.rebalances()
    with kafka_python_warnings() as of_kafka_python:
        for broker in BROKERS:
            cluster.brokers[broker].stop()
            clients.await_progress()
            cluster.brokers[broker].start()
            await_in_sync(cluster)
            clients.await_progress()
        rebalances = clients.rebalances()
        clients.stop()
    of_librdkafka = clients.librdkafka_events()
    record_property("librdkafka", dict(of_librdkafka))
    record_property("kafka-python", dict(of_kafka_python))
    assert rebalances == before
    assert of_librdkafka.keys() <= OF_LIBRDKAFKA
    assert of_kafka_python.keys() <= OF_KAFKA_PYTHON
    assert clients.timed_out_requests() == 0
    check_records(cluster, clients)


def await_in_sync(cluster: ClusterProcesses) -> None:
    for topic in (TOPIC, OFFSETS):
        for partition in range(PARTITIONS):
            cluster.await_in_sync(topic, partition)


def check_records(cluster: ClusterProcesses, clients: Clients) -> None:
    """Checks that no record was refused, each is stored once at its acknowledged offset, and each was delivered to a
    member once.
    """
    assert not [refused for producer in clients.producers for refused in producer.refused]
    for partition in range(PARTITIONS):
        read = read_all(cluster.servers, TOPIC, partition)
        for producer in clients.producers:
            check_idempotent(
                producer.name, producer.sent[partition], producer.offsets[partition], read, f"{TOPIC}-{partition}"
            )
    doubled = {place: times for place, times in Counter(clients.given()).items() if times > 1}
    assert not doubled
