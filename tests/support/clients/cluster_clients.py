"""Stock clients that work with a failing cluster, and checks of what was acknowledged to them."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from random import Random

from confluent_kafka import Consumer, KafkaException, TopicPartition
from support.clients.kept_records import read_all
from support.load.cluster_load import PlainMember, PlainProducing, TopicChanging
from support.load.cluster_promises import check_committed, check_idempotent, check_kept, check_offsets, check_seen
from support.load.cluster_view import ClusterView
from support.load.crash_load import Committing, Consuming, CrashLoad, Producing
from support.time.patience import await_answer, await_that

__all__ = ["ClusterClients"]

_PAUSE_S = 0.1
"""Seconds between two steps of a client. At full speed the clients would take the processors from everything else, and
prove no more.
"""
_KEEPERS = 6
"""Number of groups, so that each partition of the offsets topic has some."""

_SETTINGS = {"socket_timeout_ms": 6000, "topic_metadata_refresh_interval_ms": 1000}


class ClusterClients:
    """The clients: two idempotent producers by librdkafka; a non-idempotent one by kafka-python; a group with a member
    of each; a committer that is not a member; groups that committed once, to see whether their coordinator forgets; and
    one that creates, grows and deletes topics.

    `events` and `lonely` are existing topics of `partitions` each. Begin with `start`.
    """

    def __init__(
        self, servers: str, view: ClusterView, events: str, lonely: str, partitions: int, random: Random
    ) -> None:
        self._servers = servers
        self._view = view
        self.events, self.lonely, self.partitions = events, lonely, partitions
        self._kept = {f"keeper-{number}-of-{lonely}": number + 1 for number in range(_KEEPERS)}
        self._group, self._committers = f"readers-of-{events}", f"committers-of-{lonely}"
        self.to_events, self.to_lonely = (
            Producing(servers, topic, partitions, topic, linger_ms=5, request_timeout_ms=5000, **_SETTINGS)
            for topic in (events, lonely)
        )
        self.to_events.most_under_way = self.to_lonely.most_under_way = 10
        self.plain = PlainProducing(servers, events, partitions, "plain")
        self._keep(self._group, [TopicPartition(events, number, 0) for number in range(partitions)])
        self.members: list[Consuming | PlainMember] = [
            Consuming(servers, events, self._group, fetch_wait_max_ms=100, **_SETTINGS),
            PlainMember(servers, events, self._group),
        ]
        self.committing = Committing(servers, lonely, partitions, self._committers, **_SETTINGS)
        self.topics = TopicChanging(view, random, f"made-beside-{events}")
        self.producers: list[Producing | PlainProducing] = [self.to_events, self.to_lonely, self.plain]
        self.committers = [*self.members, self.committing]
        self.everybody: list[CrashLoad] = [*self.producers, *self.committers, self.topics]

    @property
    def failures(self) -> list[str]:
        return [f"{type(load).__name__}: {failure}" for load in self.everybody for failure in load.failures]

    def start(self) -> None:
        with ThreadPoolExecutor(len(self._kept)) as together:
            for group, offset in self._kept.items():
                together.submit(self._keep, group, [TopicPartition(self.lonely, 0, offset)])
        for load in self.everybody:
            load.pause_s = _PAUSE_S
            load.start()

    def _keep(self, group: str, places: list[TopicPartition]) -> None:
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": group})

        def commit() -> bool:
            with suppress(KafkaException):
                return all(each.error is None for each in consumer.commit(offsets=places, asynchronous=False))
            return False

        await_that(commit, f"{group} has committed")
        consumer.close()

    def stop(self) -> None:
        """Stops; returns when everything sent is acknowledged."""
        for load in self.everybody:
            load.stop()

    def give_up(self) -> None:
        for load in self.everybody:
            load.give_up()

    def group_goes_on(self) -> Callable[[], bool]:
        """Returns whether the group has committed, for each partition, a record sent only now."""
        wanted = {partition: number + 1 for partition, number in self.to_events.sent.items()}

        def has(partition: int, number: int) -> bool:
            offset = self.to_events.offset_from(partition, number)
            return offset is not None and any(each.committed.get(partition, 0) > offset for each in self.members)

        return lambda: all(has(partition, number) for partition, number in wanted.items())

    # -- checks at any time

    def check_commits(self) -> None:
        """Checks that acknowledged commits are there, or later ones."""
        due: dict[int, int] = {}
        for member in self.members:
            for partition, offset in dict(member.committed).items():
                due[partition] = max(offset, due.get(partition, 0))
        self._check_committed(self._group, self.events, due, self._consumed)
        due = {each.partition: offset for each, offset in dict(self.committing.committed).items() if offset}
        self._check_committed(
            self._committers, self.lonely, due, lambda: dict.fromkeys(range(self.partitions), self.committing.tried)
        )
        for group, offset in self._kept.items():
            self._check_committed(group, self.lonely, {0: offset}, lambda offset=offset: {0: offset})  # type: ignore[misc]

    def _consumed(self) -> dict[int, int]:
        """Returns the records consumed by all members together."""
        by_member = [dict(member.consumed) for member in self.members]
        return {number: max(each.get(number, 0) for each in by_member) for number in range(self.partitions)}

    def _check_committed(
        self, group: str, topic: str, due: dict[int, int], most: Callable[[], Mapping[int, int]]
    ) -> None:
        """Checks committed offsets; `most` is called after they are read, because commits continue."""
        places = [TopicPartition(topic, partition) for partition in sorted(due)]
        found = self._committed(group, places) if places else {}
        check_committed(group, due, found, most())

    def _committed(self, group: str, places: list[TopicPartition]) -> dict[int, int]:
        """Returns the coordinator's offsets; retries while the coordinator moves."""
        consumer = Consumer({"bootstrap.servers": self._servers, "group.id": group})

        def ask() -> list[TopicPartition]:
            with suppress(KafkaException):
                return list(consumer.committed(places, timeout=10))
            return []

        def is_whole(found: list[TopicPartition]) -> bool:
            return bool(found) and all(each.error is None for each in found)

        found = await_answer(ask, is_whole, f"the offsets of {group}")
        consumer.close()
        return {each.partition: each.offset for each in found}

    # -- checks after all have stopped

    def check_all(self) -> None:
        self.check_commits()
        for topic in (self.events, self.lonely):
            for partition in range(self.partitions):
                self._check_partition(topic, partition)
        self._check_seen()
        self._check_topics()

    def _check_partition(self, topic: str, partition: int) -> None:
        where = f"{topic}-{partition}"
        read = read_all(self._servers, topic, partition)
        check_offsets(read, where)
        if topic == self.events:
            plain = self.plain.offsets[partition]
            check_kept({self.plain.value(number): offset for number, offset in plain.items()}, read, where)
        producing = self.to_events if topic == self.events else self.to_lonely
        check_idempotent(
            producing.name,
            producing.sent[partition],
            producing.offsets[partition],
            read,
            where,
            producing.implied[partition],
        )

    def _check_seen(self) -> None:
        """Checks that the group read everything below its commits."""
        to_it: tuple[Producing | PlainProducing, ...] = (self.to_events, self.plain)
        for partition in range(self.partitions):
            end = max(member.committed.get(partition, 0) for member in self.members)
            seen = set().union(*(member.seen[partition] for member in self.members))
            for producing in to_it:
                check_seen(producing.name, producing.offsets[partition], end, seen, partition)

    def _check_topics(self) -> None:
        existing = {topic.name: len(topic.partitions) for topic in self._view.metadata().topics}
        assert {name: existing.get(name) for name in self.topics.alive} == self.topics.alive
        assert not existing.keys() & self.topics.gone
