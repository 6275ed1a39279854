"""Members of a share group join, leave, change and are fenced while topics come, grow and go, in any order.

After each of these changes memory equals a replay of the log, and epochs never fall. When nothing changes any more,
every partition with a state is shared among members that subscribe to it.
"""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test
from pybroker.broker.coordinator.group.modern.assignment import pairs
from pybroker.broker.coordinator.group.modern.subscribed_topics import NO_CHANGES
from pybroker.broker.coordinator.group.modern.topics import metadata_hash
from pybroker.broker.coordinator.group.replay_part import ReplayedBatch
from pybroker.broker.coordinator.group.share.replay import ShareReplay
from pybroker.broker.coordinator.group.share.states import without_topics
from pybroker.broker.coordinator.versioned import split_version
from support.in_process.consumer_groups import Topics
from support.share_groups.decisions import GROUP, SharedGroup, stored_state

NAMES = ("t", "u", "v")
MEMBERS = st.sampled_from("abcd")
SUBSCRIPTIONS = st.frozensets(st.sampled_from(NAMES), min_size=1)


class ShareGroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.shared = SharedGroup(Topics(t=3))
        self.epochs: dict[str, int] = {}
        self.newest = 0

    @rule(member=MEMBERS, names=SUBSCRIPTIONS)
    def join(self, member: str, names: frozenset[str]) -> None:
        self.epochs[member] = self.shared.beat(member, 0, *names).member_epoch

    @rule(member=MEMBERS, is_lost=st.booleans())
    def beat(self, member: str, is_lost: bool) -> None:
        if member in self.epochs:
            before = self.epochs[member]
            answer = self.shared.beat(member, before)
            if is_lost:
                again = self.shared.beat(member, before)
                assert again.member_epoch == answer.member_epoch
                assert (again.assignment is None) == (before == answer.member_epoch)
            self.epochs[member] = answer.member_epoch

    @rule(member=MEMBERS, names=SUBSCRIPTIONS)
    def subscribe(self, member: str, names: frozenset[str]) -> None:
        if member in self.epochs:
            self.epochs[member] = self.shared.beat(member, self.epochs[member], *names).member_epoch

    @rule(member=MEMBERS, is_fenced=st.booleans())
    def leave(self, member: str, is_fenced: bool) -> None:
        if self.epochs.pop(member, None) is not None:
            if is_fenced:
                self.shared.fence(member)
            else:
                self.shared.beat(member, -1)

    @rule()
    def states_are_created(self) -> None:
        self.shared.initialize()

    @rule(name=st.sampled_from(NAMES), partitions=st.integers(1, 4))
    def topic_comes_or_grows(self, name: str, partitions: int) -> None:
        self.shared.topics.create(name, max(partitions, self.shared.topics.partition_count(name)))
        self.shared.group.note_topics_changed()

    @rule(name=st.sampled_from(NAMES))
    def topic_goes(self, name: str) -> None:
        if name in self.shared.topics.topics:
            topic_id = self.shared.topics.topic_id(name)
            self.shared.topics.delete(name)
            self.shared.apply((without_topics(self.shared.group.states, [topic_id]),))
            self.shared.group.note_topics_changed()

    @invariant()
    def epochs_never_fall(self) -> None:
        group = self.shared.group
        assert group.epoch >= self.newest
        assert group.target_epoch <= group.epoch
        assert all(member.current.epoch <= group.target_epoch for member in group.members.values())
        self.newest = group.epoch

    @invariant()
    def hash_that_is_kept_equals_the_one_of_all_topics(self) -> None:
        subscribers, topics = self.shared.group.subscribers, self.shared.topics
        assert subscribers.hash_after(NO_CHANGES, topics) == metadata_hash(subscribers.topics, topics)

    @invariant()
    def replay_gives_the_same_group(self) -> None:
        replay = ShareReplay()
        for key, value in self.shared.log():
            replay.apply(*split_version(key), value, ReplayedBatch(None, 0))
        group = replay.groups.get(GROUP)
        assert group is not None or not self.shared.batches
        if group is not None:
            assert stored_state(group) == stored_state(self.shared.group)
            assert group.size_bytes == self.shared.group.size_bytes

    @invariant()
    def members_have_partitions_with_a_state_only(self) -> None:
        group, topics = self.shared.group, self.shared.topics
        for metadata, current in () if group.needs_look else group.members.values():
            for topic_id, partition in pairs(current.assigned) if current.epoch == group.epoch else ():
                assert partition in group.states.initialized[topic_id].partitions
                assert topics.topic_name(topic_id) in metadata.names

    def teardown(self) -> None:
        """Without further changes the group comes to rest, and then every partition is read."""
        for _ in range(3):
            for member in self.epochs:
                self.epochs[member] = self.shared.beat(member, self.epochs[member]).member_epoch
            self.shared.initialize()
        batches = len(self.shared.batches)
        for member in self.epochs:
            self.shared.beat(member, self.epochs[member])
        assert len(self.shared.batches) == batches
        group = self.shared.group
        read = {pair for member in group.members.values() for pair in pairs(member.current.assigned)}
        assert read == self.shared.topics.all_partitions(group.subscribers.topics)
        super().teardown()


def test_group_keeps_its_promises_whatever_members_and_topics_do() -> None:
    run_state_machine_as_test(ShareGroupMachine, settings=settings(max_examples=15, stateful_step_count=20))


@pytest.mark.long
def test_group_keeps_its_promises_in_many_histories() -> None:
    run_state_machine_as_test(ShareGroupMachine, settings=settings(max_examples=2_000, stateful_step_count=50))
