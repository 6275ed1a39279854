"""The share partitions of this broker: made at their first fetch, dropped when this broker leads no longer."""

from collections.abc import Callable, Iterable, Sequence

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, KafkaError, UnknownTopicOrPartitionError
from ...replication.partition_set import PartitionSet
from ...replication.state_changes import Leadership
from ..coordinator.share.ports import SharePartitionKey
from .acknowledgements import Acknowledgement
from .active_share_partition import ActiveSharePartition
from .ports import Place, SharePorts
from .sessions import ShareSession, ShareSessions
from .settings import ShareSettings

__all__ = ["SharePartitions"]


class SharePartitions:
    """``settings_of`` a group. ``max_sessions``, ``max_partitions``: see `ShareSessions`."""

    def __init__(
        self,
        partitions: PartitionSet,
        ports: SharePorts,
        settings_of: Callable[[str], ShareSettings],
        *,
        max_sessions: int,
        max_partitions: int,
    ) -> None:
        self.sessions = ShareSessions(max_sessions, max_partitions, self._session_ended)
        self.timers = ports.timers
        self.settings_of = settings_of
        self._partitions = partitions
        self._ports = ports
        self._groups: dict[str, dict[SharePartitionKey, ActiveSharePartition]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._groups.values()))

    def active(self, key: SharePartitionKey, topic_partition: TopicPartition) -> ActiveSharePartition:
        """The share partition, which may still be loading. Raises KafkaError when this broker does not lead it."""
        epoch = self._leader_epoch(topic_partition)
        group = self._groups.setdefault(key.group_id, {})
        active = group.get(key)
        if active is not None and active.place.leader_epoch != epoch:
            active.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            group = self._groups.setdefault(key.group_id, {})
            active = None
        if active is None:
            place = Place(key, topic_partition, epoch)
            active = ActiveSharePartition(
                place,
                self._ports,
                lambda: self.settings_of(key.group_id),
                settled=self._drop_unused,
                ended=self._forget,
            )
            group[key] = active
            try:
                active.load()
            except KafkaError:
                self._forget(active)
                raise
        return active

    def acknowledge(
        self,
        key: SharePartitionKey,
        topic_partition: TopicPartition,
        member_id: str,
        said: Sequence[Acknowledgement],
        done: Callable[[KafkaError | None], None],
    ) -> None:
        """Apply what a member says about records that it holds; ``done`` gets the error, if any, once it is stored."""
        active = self._groups.get(key.group_id, {}).get(key)
        try:
            epoch = self._leader_epoch(topic_partition)
        except KafkaError as error:
            done(error)
            return
        if active is None or active.place.leader_epoch != epoch:
            done(UnknownTopicOrPartitionError())
            return
        active.acknowledge(member_id, said, done)

    def leadership_changed(self, elected: Sequence[Leadership], resigned: Sequence[Leadership]) -> None:
        """Drop the share partitions of partitions that this broker does not lead, or leads in another epoch."""
        self.dropped(topic_partition for topic_partition, _ in (*elected, *resigned))

    def dropped(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Drop the share partitions of these partitions."""
        if not self._groups:
            return
        gone = set(topic_partitions)
        for group in tuple(self._groups.values()):
            for active in tuple(group.values()):
                if active.place.topic_partition in gone:
                    active.end(ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def _leader_epoch(self, topic_partition: TopicPartition) -> int:
        partition = self._partitions.require(topic_partition).partition
        partition.check_readable(-1, leader_only=True)
        return partition.leader_epoch

    def _session_ended(self, session: ShareSession) -> None:
        """Release what the member held in all partitions, also in those that it does not fetch any more."""
        group_id, member_id = session.key
        for active in tuple(self._groups.get(group_id, {}).values()):
            active.release(member_id)
            self._drop_unused(active)

    def _drop_unused(self, active: ActiveSharePartition) -> None:
        """Drop the share partition if no member of its group has a session here; the stored state is kept."""
        if not active.changes_under_way and not self.sessions.has_members(active.place.key.group_id):
            active.end(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    def _forget(self, active: ActiveSharePartition) -> None:
        key = active.place.key
        group = self._groups[key.group_id]
        del group[key]
        if not group:
            del self._groups[key.group_id]
