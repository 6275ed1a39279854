"""Members of one consumer group by different clients, with what they own and have read."""

import json
import subprocess
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from pathlib import Path

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from kafka import KafkaConsumer
from kafka.consumer.subscription_state import ConsumerRebalanceListener
from pybroker.base.topic_partition import TopicPartition as At
from pybroker.cli.consume.group_reading import read_as_member
from pybroker.cli.gentle_interrupt import Waiting
from pybroker.client.admin_cluster import AdminCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.fetching.partition_reader import NO_END, Batches, PartitionReader
from pybroker.client.given_options import GivenOptions
from pybroker.protocol.records.record import read_records
from pybroker.protocol.sentinels import EARLIEST
from support.processes.java import java_command
from support.processes.kafka_versions import libs_of
from support.time.patience import HANGS_AFTER_S

__all__ = [
    "ASSIGNORS",
    "ConfluentMember",
    "ConsumerProtocolMember",
    "JavaMember",
    "KafkaPythonMember",
    "Member",
    "Membership",
    "NewJavaMember",
    "PybrokerMember",
]

# The names of one assignor in librdkafka, kafka-python and Java.
ASSIGNORS = ("range", "roundrobin")
HEARTBEAT_MS = 200
POLL_MS = 30_000
"""Longer than any rebalance: kafka-python 3.0 discards a JoinGroup response that arrives after a poll ends."""


class Membership:
    """Shared records of a group's members; each change wakes the waiting threads."""

    def __init__(self, servers: str, topic: str, group: str, assignor: str) -> None:
        self.servers = servers
        self.topic = topic
        self.group = group
        self.assignor = assignor
        self.members: list[Member] = []
        self._changed = threading.Condition()

    def change(self, step: Callable[[], None]) -> None:
        with self._changed:
            step()
            self._changed.notify_all()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Waits for the condition; fails with a member's failure."""
        with self._changed:
            came = self._changed.wait_for(lambda: self.failures() or condition(), HANGS_AFTER_S)
        assert not self.failures(), self.failures()
        assert came, f"not after {HANGS_AFTER_S} s; {len(self.members)} members, they own {self.shares()}"

    def failures(self) -> list[str]:
        return [f"{type(member).__name__}: {member.failure}" for member in self.members if member.failure]

    def shares(self) -> list[int]:
        """Returns the number of partitions of each present member once no two own the same; else nothing."""
        owned = [member.owned for member in self.members if member.present]
        apart = sum(map(len, owned)) == len(set().union(*owned))
        return sorted(map(len, owned)) if apart else []

    def read(self) -> set[tuple[int, int]]:
        """Returns (partition, offset) of every record read by any member, including former ones."""
        return set().union(*(member.read for member in self.members))


class Member(ABC):
    """A member: joins when created; reads, commits, and records what it owns and reads."""

    def __init__(self, membership: Membership) -> None:
        self.membership = membership
        self.owned: frozenset[int] = frozenset()
        self.read: set[tuple[int, int]] = set()
        self.present = True
        self.failure: str | None = None
        membership.members.append(self)
        self.thread = threading.Thread(target=self._live, daemon=True)

    @property
    def reads_while_the_group_rebalances(self) -> bool:
        """Whether it reads on, so that a commit may fail."""
        return self.membership.assignor == "cooperative-sticky"

    @abstractmethod
    def consume(self) -> None:
        """Reads until told to leave, then leaves."""

    @abstractmethod
    def leave(self) -> None:
        """Tells the member to leave after the next records. `thread` ends when it has left."""

    def note_owned(self, partitions: Iterable[int]) -> None:
        self.membership.change(lambda: setattr(self, "owned", frozenset(partitions)))

    def note_read(self, records: Iterable[tuple[int, int]]) -> None:
        self.membership.change(lambda: self.read.update(records))

    def _live(self) -> None:
        try:
            self.consume()
        except BaseException as failure:
            message = repr(failure)
            self.membership.change(lambda: setattr(self, "failure", message))


class _ThreadMember(Member):
    def __init__(self, membership: Membership) -> None:
        super().__init__(membership)
        self.told_to_leave = threading.Event()
        self.thread.start()

    def leave(self) -> None:
        self.present = False
        self.told_to_leave.set()


class KafkaPythonMember(_ThreadMember):
    def consume(self) -> None:
        member = self

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
                member.note_owned(())

            def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
                member.note_owned(partition.partition for partition in assigned)

        consumer = KafkaConsumer(
            bootstrap_servers=self.membership.servers,
            group_id=self.membership.group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=HEARTBEAT_MS,
            partition_assignment_strategy=[_kafka_python_assignor(self.membership.assignor)],
        )
        consumer.subscribe([self.membership.topic], listener=Listener())
        while not self.told_to_leave.is_set():
            for batch in consumer.poll(timeout_ms=POLL_MS).values():
                self.note_read((record.partition, record.offset) for record in batch)
                consumer.commit()
        consumer.close()


def _kafka_python_assignor(name: str) -> type:
    from kafka.coordinator.assignors.range import RangePartitionAssignor
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor

    assignors: dict[str, type] = {
        "range": RangePartitionAssignor,
        "roundrobin": RoundRobinPartitionAssignor,
        "sticky": StickyPartitionAssignor,
    }
    return assignors[name]


_IN_A_REBALANCE = (
    KafkaError.ILLEGAL_GENERATION,
    KafkaError.REBALANCE_IN_PROGRESS,
    KafkaError.STALE_MEMBER_EPOCH,
    KafkaError._NO_OFFSET,
)


class ConfluentMember(_ThreadMember):
    def settings(self) -> dict[str, str | int]:
        """The settings that belong to the group protocol."""
        return {
            "heartbeat.interval.ms": HEARTBEAT_MS,
            "partition.assignment.strategy": self.membership.assignor,
        }

    def consume(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self.membership.servers,
                "group.id": self.membership.group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **self.settings(),
            }
        )

        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            self.note_owned(self.owned | {partition.partition for partition in partitions})

        def revoked(_: Consumer, partitions: list[TopicPartition]) -> None:
            self.note_owned(self.owned - {partition.partition for partition in partitions})

        consumer.subscribe([self.membership.topic], on_assign=assigned, on_revoke=revoked)
        while not self.told_to_leave.is_set():
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None, message.error()
                partition, offset = message.partition(), message.offset()
                assert partition is not None
                assert offset is not None
                self.note_read([(partition, offset)])
                self._commit(consumer)
        consumer.close()

    def _commit(self, consumer: Consumer) -> None:
        try:
            consumer.commit(asynchronous=False)
        except KafkaException as failure:
            # A cooperative member reads on while the group rebalances. It commits with the next record.
            if not self.reads_while_the_group_rebalances or failure.args[0].code() not in _IN_A_REBALANCE:
                raise


class ConsumerProtocolMember(ConfluentMember):
    """A member of the consumer protocol (KIP-848)."""

    def settings(self) -> dict[str, str | int]:
        return {"group.protocol": "consumer"}

    @property
    def reads_while_the_group_rebalances(self) -> bool:
        return True


class PybrokerMember(_ThreadMember):
    """A member of ``pybroker consume -g --commit``. It leaves with the next record."""

    next_offset: int | None = None

    @property
    def is_full(self) -> bool:
        return self.told_to_leave.is_set()

    def take(self, found: Batches, waiting: Waiting) -> None:
        for batch in found.batches:
            self.note_read((found.at.partition, record.offset) for record in read_records(batch))

    def consume(self) -> None:
        settings = take_client_settings(GivenOptions({"bootstrap.servers": self.membership.servers}), "member")

        def make_reader(committed: dict[At, int], others: list[At]) -> PartitionReader:
            starts = committed | cluster.offsets(dict.fromkeys(others, EARLIEST))
            self.note_owned(at.partition for at in starts)
            return PartitionReader(cluster, starts, dict.fromkeys(starts, NO_END), print)

        with AdminCluster(settings) as cluster:
            read_as_member(cluster, self.membership.group, [self.membership.topic], self, make_reader, commits=True)


_JAVA_ASSIGNORS = {
    "range": "RangeAssignor",
    "roundrobin": "RoundRobinAssignor",
    "cooperative-sticky": "CooperativeStickyAssignor",
}


class JavaMember(Member):
    """A member by Kafka's own VerifiableConsumer, which reports events as JSON."""

    libs: Path | None = None
    """The jars of the release; None: the usual one."""

    def __init__(self, membership: Membership, directory: Path) -> None:
        super().__init__(membership)
        command = java_command(
            "org.apache.kafka.tools.VerifiableConsumer",
            *("--bootstrap-server", membership.servers, "--topic", membership.topic, "--group-id", membership.group),
            *("--reset-policy", "earliest", "--verbose"),
            *self.options(directory),
            libs=self.libs,
        )
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.thread.start()

    def options(self, directory: Path) -> list[str]:
        """The options that belong to the group protocol."""
        settings = directory / "consumer.properties"
        settings.write_text(f"heartbeat.interval.ms={HEARTBEAT_MS}\n")
        assignor = "org.apache.kafka.clients.consumer." + _JAVA_ASSIGNORS[self.membership.assignor]
        return ["--assignment-strategy", assignor, "--consumer.config", str(settings)]

    def leave(self) -> None:
        self.present = False
        self._process.terminate()

    def kill(self) -> None:
        """The member ends without a word."""
        self.present = False
        self._process.kill()

    def consume(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            lines = [line for line in output if not self._took(line)]
        exit_code = self._process.wait()
        assert not self.present, f"ended with {exit_code}: {''.join(lines[-20:])}"

    def _took(self, line: str) -> bool:
        if not line.startswith("{"):
            return False
        event = json.loads(line)
        match event["name"]:
            case "record_data":
                self.note_read([(event["partition"], event["offset"])])
            case "partitions_assigned":
                self.note_owned(self.owned | {partition["partition"] for partition in event["partitions"]})
            case "partitions_revoked":
                self.note_owned(self.owned - {partition["partition"] for partition in event["partitions"]})
            case "offsets_committed":
                assert event["success"] or self.reads_while_the_group_rebalances, event
        return True


class NewJavaMember(JavaMember):
    """A member of the consumer protocol (KIP-848), by Kafka 4.1.1."""

    def __init__(self, membership: Membership, directory: Path) -> None:
        self.libs = libs_of("4.1.1")
        super().__init__(membership, directory)

    @property
    def reads_while_the_group_rebalances(self) -> bool:
        return True

    def options(self, directory: Path) -> list[str]:
        return ["--group-protocol", "consumer"]
