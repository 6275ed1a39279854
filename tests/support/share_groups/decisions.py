"""A share group without a broker: decisions that are applied at once, and the log of all records."""

from collections.abc import Iterator

from pybroker.broker.coordinator.group.modern.assignment import pairs
from pybroker.broker.coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from pybroker.broker.coordinator.group.share.decision import ShareDecision, ShareWorld, decide
from pybroker.broker.coordinator.group.share.heartbeat import ShareHeartbeat
from pybroker.broker.coordinator.group.share.leaving import fence
from pybroker.broker.coordinator.group.share.record_bytes import encode
from pybroker.broker.coordinator.group.share.records import ShareRecord
from pybroker.broker.coordinator.group.share.settings import ShareGroupSettings
from pybroker.broker.coordinator.group.share.share_group import ShareGroup
from pybroker.broker.coordinator.group.share.states import with_initialized
from pybroker.protocol.errors import ErrorCode, KafkaError
from support.in_process.consumer_groups import Topics

__all__ = ["GROUP", "SHARE_SETTINGS", "SharedGroup", "share_heartbeat", "stored_state"]

GROUP = "g"
SHARE_SETTINGS = ShareGroupSettings(session_timeout_ms=45_000, heartbeat_interval_ms=5_000, max_size=10)


def share_heartbeat(member_id: str, epoch: int, *names: str, **fields: object) -> ShareHeartbeat:
    """A heartbeat. Without names the subscription stays as it is."""
    defaults: dict[str, object] = {
        "group_id": GROUP,
        "rack_id": None,
        "names": names or None,
        "client_id": "client",
        "client_host": "/127.0.0.1",
    }
    return ShareHeartbeat(member_id=member_id, member_epoch=epoch, **{**defaults, **fields})  # type: ignore[arg-type]


class SharedGroup:
    """A group whose decisions are applied at once, and kept as batches of records."""

    def __init__(self, topics: Topics) -> None:
        self.topics = topics
        self.group = ShareGroup(GROUP)
        self.batches: list[tuple[ShareRecord, ...]] = []

    def decide(self, request: ShareHeartbeat) -> ShareDecision:
        """Decide a heartbeat and apply its records. Raises KafkaError when it is refused."""
        decision = decide(self.group, request, ShareWorld(self.topics, SHARE_SETTINGS))
        self.apply(decision.records)
        return decision

    def beat(self, member_id: str, epoch: int, *names: str, **fields: object) -> HeartbeatAnswer:
        return self.decide(share_heartbeat(member_id, epoch, *names, **fields)).answer

    def error_of(self, member_id: str, epoch: int, *names: str, **fields: object) -> ErrorCode:
        """The error code of the response."""
        try:
            return self.beat(member_id, epoch, *names, **fields).error
        except KafkaError as error:
            return error.code

    def initialize(self) -> None:
        """The share coordinator has created all states that were asked for."""
        states = self.group.states
        waiting = {topic_id: topic.partitions for topic_id, topic in states.initializing.items()}
        if waiting:
            self.apply((with_initialized(states, pairs(waiting)),))

    def fence(self, member_id: str) -> None:
        """The session of the member has ended."""
        self.apply(fence(self.group, member_id, self.topics))

    def apply(self, records: tuple[ShareRecord, ...]) -> None:
        for record in records:
            self.group.apply(record)
        self.group.subscribers.take_changes(self.topics)
        if records:
            self.batches.append(records)

    def log(self) -> Iterator[tuple[bytes, bytes | None]]:
        """Keys and values of all records."""
        return (encode(GROUP, record) for batch in self.batches for record in batch)


def stored_state(group: ShareGroup) -> dict[str, object]:
    """All of a group's state that its records tell."""
    return {
        "epochs": (group.epoch, group.target_epoch),
        "metadata_hash": group.metadata_hash,
        "members": group.members,
        "targets": group.targets,
        "states": group.states,
        "topics": set(group.subscribers.topics),
    }
