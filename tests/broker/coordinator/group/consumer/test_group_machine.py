"""Members of a consumer group join, leave, change and lose responses while topics come, grow and go, in any order.

No partition is ever read by two members in epochs that the group accepts; when nothing changes any more, every
partition is read by one member.
"""

import contextlib
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pybroker.broker.coordinator.group.consumer import targets
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.consumer.decision import Decision
from pybroker.broker.coordinator.group.consumer.patterns import resolved_records
from pybroker.broker.coordinator.group.consumer.records import ClassicMember, ResolvedPattern
from pybroker.broker.coordinator.group.consumer.targets import assignment_input
from pybroker.broker.coordinator.group.member import MemberProtocol
from pybroker.broker.coordinator.group.migration.rules import check_return, has_to_join_again
from pybroker.broker.coordinator.group.modern.assignment import assignment_of, pairs
from pybroker.broker.coordinator.group.modern.assignors.assignor import assign
from pybroker.broker.coordinator.group.modern.assignors.table import ASSIGNORS
from pybroker.broker.coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from pybroker.broker.coordinator.group.modern.target_changes import target_records
from pybroker.broker.coordinator.group.modern.topics import metadata_hash
from pybroker.protocol.errors import (
    FencedInstanceIdError,
    UnknownMemberIdError,
    UnreleasedInstanceIdError,
)
from support.examples import examples
from support.in_process.consumer_groups import CoordinatedGroup, Topics, heartbeat, stored_state

NAMES = ("a1", "a2", "b1")
PATTERNS = ("a", "b")
"""Each matches the topics that begin with it."""
CLASSIC = ClassicMember(10_000, (MemberProtocol("cooperative-sticky", b""),))
Partition = tuple[UUID, int]
SUBSCRIPTIONS = st.tuples(st.frozensets(st.sampled_from(NAMES)), st.sampled_from(("", *PATTERNS)))
CLIENTS = st.integers(0, 2)


@dataclass
class Client:
    """A member's client.

    ``told``: what it shall have. ``reported``: what it had at its last heartbeat; None after a lost response, when it
    has to send all fields. ``subscription``: names and a pattern. ``is_classic``: it joins by the classic protocol,
    each time that the coordinator says so.
    """

    name: str
    instance_id: str | None = None
    epoch: int = 0
    incarnation: int = 0
    owned: set[Partition] = field(default_factory=set)
    told: set[Partition] = field(default_factory=set)
    subscription: tuple[frozenset[str], str] = (frozenset(), "")
    reported: set[Partition] | None = None
    is_in: bool = False
    is_classic: bool = field(default=False, init=False)

    @property
    def member_id(self) -> str:
        return f"{self.name}.{self.incarnation}"

    def give_up(self) -> None:
        """Forget the membership, and all partitions with it."""
        self.epoch, self.reported = 0, None
        self.owned, self.told = set(), set()

    def hear(self, answer: HeartbeatAnswer) -> None:
        assert answer.member_epoch >= self.epoch
        self.epoch = answer.member_epoch
        self.reported = set(self.owned)
        if answer.assignment is not None:
            self.told = set(pairs(answer.assignment))
            self.owned |= self.told  # at once, while what it must give back takes a while


class GroupMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.group = CoordinatedGroup(Topics(a1=3))
        self.clients = [Client("m0", "i0"), Client("m1"), Client("m2")]
        self.newest = (0, 0)

    # -- clients

    @initialize(first=SUBSCRIPTIONS, second=SUBSCRIPTIONS, is_classic=st.booleans())
    def begin(self, first: tuple[frozenset[str], str], second: tuple[frozenset[str], str], *, is_classic: bool) -> None:
        self.join(0, first, is_classic=is_classic)
        self.join(1, second)

    @rule(i=CLIENTS, subscription=SUBSCRIPTIONS, is_classic=st.booleans())
    def join(self, i: int, subscription: tuple[frozenset[str], str], *, is_classic: bool = False) -> None:
        client = self.clients[i]
        if not client.is_in:
            client.is_classic = is_classic
            client.is_in = True
            client.incarnation += 1
            client.give_up()
            client.subscription = subscription
        self.beat(i, is_lost=False)

    @rule(i=CLIENTS, subscription=SUBSCRIPTIONS)
    def change_subscription(self, i: int, subscription: tuple[frozenset[str], str]) -> None:
        client = self.clients[i]
        client.subscription = subscription
        client.reported = None

    @rule(i=CLIENTS, is_lost=st.booleans())
    def beat(self, i: int, *, is_lost: bool) -> None:
        client = self.clients[i]
        if not client.is_in or (client.is_classic and not self.has_to_join(client)):
            return
        try:
            decision = self.send(client)
        except UnreleasedInstanceIdError:
            return
        except (UnknownMemberIdError, FencedInstanceIdError):
            client.give_up()
            return
        if is_lost:
            client.reported = None
        else:
            client.hear(decision.answer)

    def has_to_join(self, client: Client) -> bool:
        """Whether a classic client wants to join, or is told to do it by the response of a Heartbeat."""
        group = self.group.group
        member = group.members.get(client.member_id)
        if client.reported is None or member is None:
            return True
        if member.epoch != client.epoch:
            client.give_up()  # ILLEGAL_GENERATION
            return True
        return has_to_join_again(group, member, group.epoch, self.group.topics)

    def send_join(self, client: Client) -> Decision:
        names = tuple(sorted(topics_of(*client.subscription)))
        owned = assignment_of(client.owned)
        fields = {"names": names, "pattern": "", "owned": owned, "instance_id": client.instance_id, "classic": CLASSIC}
        request = heartbeat(client.member_id, 0, **fields)
        check_return(self.group.group, request)
        holder = self.group.group.static_members.get(client.instance_id or "")
        if client.instance_id is not None and client.epoch > 0 and holder != client.member_id:
            raise UnknownMemberIdError
        return self.group.decide(request)

    def send(self, client: Client) -> Decision:
        if client.is_classic:
            return self.send_join(client)
        fields: dict[str, object] = {"instance_id": client.instance_id}
        if client.reported is None:
            names, pattern = client.subscription
            fields |= {"names": tuple(names), "pattern": pattern, "rebalance_timeout_ms": 60_000}
        if client.owned != client.reported:
            fields["owned"] = assignment_of(client.owned)
        return self.group.decide(heartbeat(client.member_id, client.epoch, **fields))

    @rule(i=CLIENTS)
    def lose_answers(self, i: int) -> None:
        """Topics grow all the time, and no response reaches the client."""
        for name in NAMES[:2]:
            self.grow(name, 1)
            self.beat(i, is_lost=True)

    @rule(i=CLIENTS)
    def give_back(self, i: int) -> None:
        """The client has stopped to read what it shall not have any more."""
        client = self.clients[i]
        client.owned &= client.told

    @rule(i=CLIENTS, is_static=st.booleans())
    def leave(self, i: int, *, is_static: bool) -> None:
        client = self.clients[i]
        if not client.is_in:
            return
        client.is_in = False
        epoch = -2 if is_static and client.instance_id is not None else -1
        client.give_up()
        with contextlib.suppress(UnknownMemberIdError, FencedInstanceIdError):
            self.group.beat(client.member_id, epoch, instance_id=client.instance_id)

    @rule(i=CLIENTS)
    def restart(self, i: int) -> None:
        """The client rejoins under its id, as after an error that it cannot explain."""
        self.clients[i].give_up()

    # -- the coordinator

    @rule(i=CLIENTS)
    def time_out(self, i: int) -> None:
        if self.clients[i].member_id in self.group.group.members:
            self.group.fence(self.clients[i].member_id)

    @rule()
    def move(self) -> None:
        """Another coordinator loads the group from the log."""
        loaded = ConsumerGroup("g")
        for batch in self.group.batches:
            for record in batch:
                loaded.apply(record)
        assert stored_state(loaded) == stored_state(self.group.group)
        self.group.group = loaded

    @rule()
    def resolve_patterns(self) -> None:
        found = [
            ResolvedPattern(pattern, frozenset(t for t in self.group.topics.topics if t.startswith(pattern)), 1, 0)
            for pattern in self.group.group.subscriptions.patterns
        ]
        if found:
            self.group.apply(resolved_records(self.group.group, found, self.group.topics))

    @precondition(lambda self: self.group.group.epoch > self.group.group.target_epoch and self.group.group.members)
    @rule()
    def compute_target(self) -> None:
        """As it is done outside of heartbeats for a large group."""
        group = self.group.group
        result = assign(ASSIGNORS["uniform"], assignment_input(group, self.group.topics))
        self.group.apply(target_records(group, result, group.epoch))

    # -- topics

    @rule(name=st.sampled_from(NAMES), more=st.integers(1, 2))
    def grow(self, name: str, more: int) -> None:
        self.group.topics.create(name, self.group.topics.partition_count(name) + more)
        self.group.group.note_topics_changed()

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name: str) -> None:
        if name in self.group.topics.topics:
            self.group.topics.delete(name)
            self.group.group.note_topics_changed()

    # -- what always holds

    @invariant()
    def each_partition_has_at_most_one_owner(self) -> None:
        group = self.group.group
        counted = sum(
            len(partitions)
            for member in group.members.values()
            for assignment in (member.current.assigned, member.current.revoking)
            for partitions in assignment.values()
        )
        assert counted == len(group.owners)

    @invariant()
    def hash_that_is_kept_equals_the_one_of_all_topics(self) -> None:
        subscriptions = self.group.group.subscriptions
        assert subscriptions.topics_hash(self.group.topics) == metadata_hash(subscriptions.topics, self.group.topics)

    @invariant()
    def members_read_only_what_they_own(self) -> None:
        for client in self.clients:
            if client.member_id in self.group.group.members and client.epoch > 0:
                for partition in client.owned:
                    assert self.group.group.owners.get(partition) == client.member_id

    @invariant()
    def no_epoch_falls_or_passes_the_next(self) -> None:
        group = self.group.group
        assert (group.epoch, group.target_epoch) >= self.newest
        assert group.epoch >= group.target_epoch >= self.newest[1]
        assert all(member.epoch <= group.target_epoch for member in group.members.values())
        self.newest = group.epoch, group.target_epoch

    # -- when nothing changes any more

    def teardown(self) -> None:
        for client in self.clients:
            if not client.is_in:
                self.group_forgets(client)
        self.come_to_rest()
        self.grow("a1", 1)
        self.delete("b1")
        self.come_to_rest()

    def come_to_rest(self) -> None:
        for _ in range(8):
            self.resolve_patterns()
            for i, client in enumerate(self.clients):
                client.owned &= client.told
                self.beat(i, is_lost=False)
            if self.group.group.epoch > self.group.group.target_epoch:
                self.compute_target()
        self.check_that_all_is_assigned()

    def group_forgets(self, client: Client) -> None:
        """The session of a static member that left is over, and that of an older incarnation."""
        for member_id in [m for m in self.group.group.members if m.startswith(f"{client.name}.")]:
            self.group.fence(member_id)

    def check_that_all_is_assigned(self) -> None:
        group, topics = self.group.group, self.group.topics
        alive = {client.member_id: client for client in self.clients if client.is_in}
        assert set(group.members) == set(alive)
        assert group.state_name == ("Stable" if alive else "Empty")
        wanted = {
            member_id: topics.all_partitions(topics_of(*client.subscription)) for member_id, client in alive.items()
        }
        assert group.owners.keys() == set().union(*wanted.values())
        for member_id, client in alive.items():
            assert client.owned <= wanted[member_id]
            assert client.owned == set(pairs(group.members[member_id].current.assigned))
            assert self.send(client).records == ()
            assert not client.is_classic or not self.has_to_join(client)


def topics_of(names: frozenset[str], pattern: str) -> set[str]:
    return {*names, *(name for name in NAMES if pattern and name.startswith(pattern))}


MACHINES = settings(max_examples=examples(50), stateful_step_count=30, deadline=None)


def test_group_of_any_history_is_safe_and_comes_to_rest() -> None:
    run_state_machine_as_test(GroupMachine, settings=MACHINES)


def test_group_whose_targets_are_computed_outside_of_heartbeats_is_safe_and_comes_to_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(targets, "_SMALL", 4)
    run_state_machine_as_test(GroupMachine, settings=MACHINES)
