"""A consumer group without a broker: topics, members as KIP-848's client has them, and the log of all records."""

from collections.abc import Collection, Iterable, Iterator
from itertools import count
from uuid import UUID

from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.consumer.decision import Decision, World, decide
from pybroker.broker.coordinator.group.consumer.heartbeat import Heartbeat
from pybroker.broker.coordinator.group.consumer.leaving import fence
from pybroker.broker.coordinator.group.consumer.record_bytes import encode
from pybroker.broker.coordinator.group.consumer.records import GroupRecord
from pybroker.broker.coordinator.group.consumer.settings import ConsumerGroupSettings
from pybroker.broker.coordinator.group.modern.assignment import EMPTY, Assignment
from pybroker.broker.coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from pybroker.protocol.codec.wire import NULL_UUID
from pybroker.protocol.errors import ErrorCode, InvalidRegularExpressionError, KafkaError

__all__ = ["CoordinatedGroup", "Topics", "heartbeat", "stored_state"]

GROUP = "g"
SETTINGS = ConsumerGroupSettings(
    session_timeout_ms=45_000,
    heartbeat_interval_ms=5_000,
    max_size=100,
    assignors=("uniform", "range"),
    regex_refresh_ms=600_000,
)


class Topics:
    """A `TopicLookup` whose topics come, grow, go and are made anew."""

    def __init__(self, **counts: int) -> None:
        self._numbers = count(1)
        self._counts: dict[str, int] = {}
        self._ids: dict[str, UUID] = {}
        for name, partitions in counts.items():
            self.create(name, partitions)

    def create(self, name: str, partitions: int) -> UUID:
        """Create a topic, or give one more partitions."""
        self._counts[name] = partitions
        return self._ids.setdefault(name, UUID(int=next(self._numbers)))

    def delete(self, name: str) -> None:
        del self._counts[name], self._ids[name]

    @property
    def topics(self) -> Collection[str]:
        return list(self._counts)

    def topic_id(self, name: str) -> UUID:
        return self._ids.get(name, NULL_UUID)

    def topic_name(self, topic_id: UUID) -> str | None:
        return next((name for name, own in self._ids.items() if own == topic_id), None)

    def partition_count(self, name: str) -> int:
        return self._counts.get(name, 0)

    def assignment(self, **partitions: Iterable[int]) -> Assignment:
        """An assignment, by topic name."""
        return {self._ids[name]: frozenset(own) for name, own in partitions.items()}

    def all_partitions(self, names: Iterable[str]) -> set[tuple[UUID, int]]:
        return {(self._ids[name], p) for name in names if name in self._ids for p in range(self._counts[name])}


def heartbeat(member_id: str, epoch: int, **fields: object) -> Heartbeat:
    """A heartbeat of version 1. At epoch 0 it has all that a join needs."""
    defaults: dict[str, object] = {
        "group_id": GROUP,
        "instance_id": None,
        "rack_id": None,
        "rebalance_timeout_ms": 60_000 if epoch == 0 else -1,
        "names": () if epoch == 0 and fields.get("pattern") is None else None,
        "pattern": None,
        "server_assignor": None,
        "owned": EMPTY if epoch == 0 else None,
        "client_id": "client",
        "client_host": "/127.0.0.1",
        "version": 1,
    }
    return Heartbeat(member_id=member_id, member_epoch=epoch, **{**defaults, **fields})  # type: ignore[arg-type]


class CoordinatedGroup:
    """A group whose decisions are applied at once, and kept as batches of records."""

    def __init__(self, topics: Topics, settings: ConsumerGroupSettings = SETTINGS) -> None:
        self.topics = topics
        self.settings = settings
        self.group = ConsumerGroup(GROUP)
        self.batches: list[tuple[GroupRecord, ...]] = []
        self._ids = count(1)

    @property
    def world(self) -> World:
        return World(self.topics, self.settings, 0, _check_pattern, lambda: f"made-{next(self._ids)}")

    def send(self, request: Heartbeat) -> HeartbeatAnswer:
        """Decide a heartbeat and apply its records. Raises KafkaError when it is refused."""
        return self.decide(request).answer

    def decide(self, request: Heartbeat) -> Decision:
        decision = decide(self.group, request, self.world)
        self.apply(decision.records)
        return decision

    def beat(self, member_id: str, epoch: int, **fields: object) -> HeartbeatAnswer:
        """`send` a heartbeat with these fields."""
        return self.send(heartbeat(member_id, epoch, **fields))

    def error_of(self, request: Heartbeat) -> ErrorCode:
        """The error code of the response."""
        try:
            return self.send(request).error
        except KafkaError as error:
            return error.code

    def fence(self, *member_ids: str) -> None:
        """A timeout of the member has passed."""
        self.apply(fence(self.group, member_ids, self.topics))

    def apply(self, records: tuple[GroupRecord, ...]) -> None:
        for record in records:
            self.group.apply(record)
        self.group.subscriptions.subscribed.take_changes(self.topics)
        if records:
            self.batches.append(records)

    def log(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Keys and values of all records."""
        return (encode(GROUP, record) for batch in self.batches for record in batch)


def _check_pattern(pattern: str, known: Collection[str]) -> None:
    if pattern.startswith("("):
        raise InvalidRegularExpressionError(pattern)


def stored_state(group: ConsumerGroup) -> dict[str, object]:
    """All of a group's state that its records tell."""
    return {
        "epochs": (group.epoch, group.target_epoch),
        "metadata_hash": group.metadata_hash,
        "members": group.members,
        "targets": group.targets,
        "static_members": group.static_members,
        "owners": group.owners,
        "patterns": group.patterns,
        "topics": set(group.subscriptions.topics),
        "subscribed patterns": set(group.subscriptions.patterns),
        "mentions": group.subscriptions.mentions,
        "assignor": group.protocol_name,
    }
