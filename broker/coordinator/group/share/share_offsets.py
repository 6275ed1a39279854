"""Requests of administrators about the start offsets of share groups (KIP-932), which the share coordinator stores.

The group's record notes a change before it begins, so that a later request can complete a change that failed.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple
from uuid import UUID

from .....base.timers import Scheduler
from .....protocol.codec import NULL_UUID
from .....protocol.errors import CoordinatorNotAvailableError, ErrorCode, GroupNotEmptyError, error_for
from ...share.ports import SharePartitionKey, StateSummary
from ..modern.assignment import Assignment, assignment_of, pairs
from .key_calls import KeyCalls
from .records import NO_STATES, NamedPartitions, StatePartitions
from .share_group import ShareGroup
from .share_groups import ShareGroups, SharePorts
from .state_runs import Codes, Partition, StateRun
from .states import with_deleted, with_deleting, with_initializing

__all__ = ["AlteredOffsets", "DeletedOffsets", "NamedPartition", "ShareOffsets", "Summaries"]


class NamedPartition(NamedTuple):
    """``topic_id``: the null uuid for a topic that does not exist."""

    topic: str
    topic_id: UUID
    partition: int


Summaries = Mapping[NamedPartition, StateSummary | ErrorCode]
AlteredOffsets = Mapping[str, tuple[UUID, Mapping[int, ErrorCode]]]
"""The id and the codes of the partitions of each topic, by its name. The null uuid: the topic does not exist."""
DeletedOffsets = Mapping[str, tuple[UUID, ErrorCode]]
"""The id and the code of each topic, by its name."""


class ShareOffsets:
    """Describes, alters and deletes start offsets. Each method raises KafkaError, or calls ``done`` later."""

    def __init__(self, shares: ShareGroups, scheduler: Scheduler, ports: SharePorts) -> None:
        self._shares = shares
        self._scheduler = scheduler
        self._topics = ports.topics
        self._state = ports.state

    def describe(
        self,
        group_id: str,
        asked: Mapping[str, Collection[int]] | None,
        limit_s: float,
        done: Callable[[Summaries], None],
    ) -> None:
        """DescribeShareGroupOffsets. ``asked``: partitions by topic; None: all that have a state.

        The share coordinator is asked only about partitions that exist, because it might still have to learn of others.
        A partition whose state it does not tell within ``limit_s`` gets COORDINATOR_NOT_AVAILABLE.
        """
        self._shares.lookup.check(group_id)
        partitions = list(self._known(group_id) if asked is None else self._named(asked))
        absent: dict[NamedPartition, StateSummary | ErrorCode] = {
            each: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION for each in partitions if not self._exists(each)
        }

        def summarize(each: NamedPartition, answered: Callable[[StateSummary | ErrorCode], None]) -> None:
            self._state.read_summary(SharePartitionKey(group_id, each.topic_id, each.partition), -1, answered)

        late: StateSummary | ErrorCode = ErrorCode.COORDINATOR_NOT_AVAILABLE
        present = [each for each in partitions if each not in absent]
        KeyCalls(self._scheduler, present, summarize, lambda found: done({**found, **absent}), late=(limit_s, late))

    def _known(self, group_id: str) -> Iterable[NamedPartition]:
        group = self._shares.lookup.known(group_id)
        for topic_id, topic in () if group is None else group.states.initialized.items():
            name = self._topics.topic_name(topic_id)
            if name is not None:
                yield from (NamedPartition(name, topic_id, partition) for partition in sorted(topic.partitions))

    def _named(self, asked: Mapping[str, Collection[int]]) -> Iterable[NamedPartition]:
        for name, partitions in asked.items():
            topic_id = self._topics.topic_id(name)
            yield from (NamedPartition(name, topic_id, partition) for partition in partitions)

    def _exists(self, each: NamedPartition) -> bool:
        return 0 <= each.partition < self._topics.partition_count(each.topic)

    def alter(
        self,
        group_id: str,
        asked: Mapping[str, Mapping[int, int]],
        done: Callable[[AlteredOffsets], None],
    ) -> None:
        """AlterShareGroupOffsets: start offsets by topic and partition. The group may be new."""
        group = self._idle(self._shares.lookup.get_or_new(group_id))
        ids = {name: self._topics.topic_id(name) for name in asked}
        names = {topic_id: name for name, topic_id in ids.items()}
        offsets: dict[Partition, int] = {}
        for name, own in asked.items():
            count = self._topics.partition_count(name)
            offsets.update(((ids[name], each), offset) for each, offset in own.items() if 0 <= each < count)

        def answer(codes: Codes) -> None:
            told = {name: dict.fromkeys(own, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for name, own in asked.items()}
            for (topic_id, partition), code in codes.items():
                told[names[topic_id]][partition] = code
            done({name: (ids[name], own) for name, own in told.items()})

        def create(run: StateRun) -> None:
            self._shares.initializations.begin(group, run, offsets, answer)

        if not offsets:
            answer({})
            return
        new = {topic_id: NamedPartitions(names[topic_id], own) for topic_id, own in assignment_of(offsets).items()}
        self._change(group, with_initializing(group.states, new), offsets, create, answer)

    def delete(self, group_id: str, names: Iterable[str], done: Callable[[DeletedOffsets], None]) -> None:
        """DeleteShareGroupOffsets. UNKNOWN_TOPIC_OR_PARTITION: there is nothing to delete for the topic."""
        group = self._idle(self._shares.lookup.get(group_id))
        ids = {name: self._topics.topic_id(name) for name in names}
        stored = {topic_id: own for topic_id, own in self._stored(group).items() if topic_id in ids.values()}

        def deleted(codes: Mapping[UUID, ErrorCode]) -> None:
            def answer(error: ErrorCode) -> None:
                nothing = (NULL_UUID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                told = {id_: (id_, code if error is ErrorCode.NONE else error) for id_, code in codes.items()}
                done({name: told.get(id_, nothing) for name, id_ in ids.items()})

            ended = [topic_id for topic_id, code in codes.items() if code is ErrorCode.NONE]
            if not ended:
                answer(ErrorCode.NONE)
            elif not self._shares.write(group, (with_deleted(group.states, ended),), answer):
                answer(ErrorCode.UNKNOWN_SERVER_ERROR)

        self._delete(group, stored, deleted)

    def has_states(self, group_id: str) -> bool:
        """Whether the group is a share group of this broker for which states may be stored."""
        group = self._shares.lookup.known(group_id)
        return group is not None and group.states != NO_STATES

    def delete_states(self, group_id: str, done: Callable[[ErrorCode], None]) -> None:
        """Delete all states of a group that is about to be deleted."""
        group = self._idle(self._shares.lookup.get(group_id))

        def deleted(codes: Mapping[UUID, ErrorCode]) -> None:
            done(next((code for code in codes.values() if code is not ErrorCode.NONE), ErrorCode.NONE))

        self._delete(group, self._stored(group), deleted)

    def _idle(self, group: ShareGroup) -> ShareGroup:
        """The group. Raises KafkaError when it has members, when its states are being created or deleted, or when the
        log would refuse to note that."""
        if not group.is_empty:
            raise GroupNotEmptyError()
        if self._shares.state_runs.is_running(group):
            raise CoordinatorNotAvailableError()
        if (code := self._shares.refusal(group.group_id)) is not ErrorCode.NONE:
            raise error_for(code)
        return group

    def _stored(self, group: ShareGroup) -> Assignment:
        """The partitions that may have a state, also of topics whose states were not deleted completely."""
        states, found = group.states, dict[UUID, frozenset[int]]()
        for topic_id, name in states.deleting.items():
            if self._topics.topic_name(topic_id) is not None:
                found[topic_id] = frozenset(range(self._topics.partition_count(name)))
        for topic_id, topic in (*states.initializing.items(), *states.initialized.items()):
            found[topic_id] = found.get(topic_id, frozenset()) | topic.partitions
        return found

    def _delete(self, group: ShareGroup, stored: Assignment, done: Callable[[Mapping[UUID, ErrorCode]], None]) -> None:
        """``done`` gets the code of each topic."""

        def delete(partition: Partition, answered: Callable[[ErrorCode], None]) -> None:
            self._state.delete(SharePartitionKey(group.group_id, *partition), answered)

        def finish(codes: Codes) -> None:
            failed = {topic_id: code for (topic_id, _), code in codes.items() if code is not ErrorCode.NONE}
            done({topic_id: failed.get(topic_id, ErrorCode.NONE) for topic_id in stored})

        if not stored:
            done({})
            return
        partitions = list(pairs(stored))
        names = {topic_id: self._topics.topic_name(topic_id) or "" for topic_id in stored}

        def delete_all(run: StateRun) -> None:
            self._shares.state_runs.call(run, partitions, delete, finish)

        self._change(group, with_deleting(group.states, names), partitions, delete_all, finish)

    def _change(
        self,
        group: ShareGroup,
        states: StatePartitions,
        partitions: Iterable[Partition],
        begin: Callable[[StateRun], None],
        failed: Callable[[Codes], None],
    ) -> None:
        """Write the record of a change, and then have it begun."""
        run = self._shares.state_runs.reserve(group)

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                begin(run)
            else:
                self._shares.state_runs.release(run)
                failed(dict.fromkeys(partitions, error))

        if not self._shares.write(group, (states,), written):
            written(ErrorCode.UNKNOWN_SERVER_ERROR)
