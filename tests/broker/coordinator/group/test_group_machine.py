"""Random clients join, leave, stall and fail in virtual time; the invariants of a group are checked after each step.

The clients behave like Kafka's: they join, sync (the leader with an assignment for each member it knows), send
heartbeats and commits of the generation they know, and lose their state when they crash.
"""

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.replay import Replay
from pybroker.broker.coordinator.group.results import JoinResult, LeavingMember
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.protocol.errors import ErrorCode, NotLeaderOrFollowerError
from pybroker.protocol.records.batch import iter_batches
from support.clients.group_clients import REBALANCE_MS, SESSION_MS, GroupWorld, JoinCall, SyncCall, protocols
from support.examples import examples

T0 = TopicPartition("t", 0)
PREFERENCES = (("range", "robin"), ("robin", "range"), ("robin", "range", "sticky"))


class Client:
    """One consumer. A static consumer keeps its instance id after a crash."""

    def __init__(self, number: int) -> None:
        self.name = f"c{number}"
        self.instance_id = f"i{number}" if number % 2 else None
        self.forget()

    def forget(self) -> None:
        self.member_id = ""
        self.joined: JoinResult | None = None
        self.join_call: JoinCall | None = None
        self.sync_call: SyncCall | None = None
        self.is_of_former_life = False


def identity(member_id: str) -> str:
    """The same name for a static member under each of its member ids."""
    return member_id.partition("-")[0] if member_id.startswith("i") else member_id


class GroupMachine(RuleBasedStateMachine):
    @initialize(delay_ms=st.sampled_from([0, 3_000]), max_size=st.sampled_from([3, 100]))
    def start(self, delay_ms: int, max_size: int) -> None:
        self.world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=delay_ms, max_size=max_size))
        self.clients = [Client(number) for number in range(4)]
        self.max_size = max_size
        self.has_log_failed = False
        self.begin_life()

    def begin_life(self) -> None:
        """A group that was removed begins again, so the model forgets its state and members."""
        self.leaders: dict[int, str] = {}
        self.protocols: dict[int, str | None] = {}
        self.newest_generation = 0
        for client in self.clients:
            client.is_of_former_life = True

    clients_drawn = st.integers(0, 3)

    # -- requests of clients

    @rule(number=clients_drawn, preference=st.sampled_from(PREFERENCES))
    def join(self, number: int, preference: tuple[str, ...]) -> None:
        client = self.clients[number]
        client.sync_call = None
        client.join_call = self.world.join(
            client.member_id,
            client_id=client.name,
            instance_id=client.instance_id,
            protocols_=protocols(*preference),
        )
        self.hear_answers()

    @rule(number=clients_drawn)
    def sync(self, number: int) -> None:
        client = self.clients[number]
        joined = client.joined
        if joined is None or client.join_call is not None:
            return
        shares = None
        if joined.leader_id == client.member_id and not joined.skip_assignment:
            shares = {
                one.member_id: f"{joined.generation_id} {identity(one.member_id)}".encode() for one in joined.members
            }
        client.sync_call = self.world.sync(
            client.member_id, joined.generation_id, shares, instance_id=client.instance_id
        )
        self.hear_answers()

    @rule(number=clients_drawn)
    def sync_of_an_old_generation(self, number: int) -> None:
        client = self.clients[number]
        if client.joined is not None:
            call = self.world.sync(client.member_id, client.joined.generation_id - 1, {client.member_id: b"old"})
            assert call.result.error is not ErrorCode.NONE

    @rule(preference=st.sampled_from(PREFERENCES))
    def those_who_know_each_other_rebalance(self, preference: tuple[str, ...]) -> None:
        """A complete rebalance of live consumers, which single random steps rarely reach."""
        group = self.world.find()
        for number, client in enumerate(self.clients):
            if group is not None and client.member_id in group.members:
                self.join(number, preference)

    @rule()
    def all_who_can_sync(self) -> None:
        for number in range(len(self.clients)):
            self.sync(number)

    @rule(number=clients_drawn, stale=st.booleans())
    def heartbeat(self, number: int, stale: bool) -> None:
        client = self.clients[number]
        if client.joined is None:
            return
        generation_id = client.joined.generation_id - stale
        error = self.world.heartbeat(client.member_id, generation_id, instance_id=client.instance_id)
        if error in (ErrorCode.NONE, ErrorCode.REBALANCE_IN_PROGRESS):
            assert generation_id == self.newest_generation
            assert not client.is_of_former_life
        if not stale:
            self.note_error(client, error)

    @rule(number=clients_drawn, stale=st.booleans())
    def commit(self, number: int, stale: bool) -> None:
        client = self.clients[number]
        if client.joined is None:
            return
        generation_id = client.joined.generation_id - stale
        before = self.world.committed()
        call = self.world.commit(
            {T0: self.world.time.now_ms()}, client.member_id, generation_id, instance_id=client.instance_id
        )
        group = self.world.find()
        is_fenced = client.is_of_former_life or generation_id != self.newest_generation
        if group is None or is_fenced or group.state is GroupState.COMPLETING_REBALANCE:
            assert call.error is not ErrorCode.NONE
            assert self.world.committed() == before

    @rule(number=clients_drawn)
    def leave(self, number: int) -> None:
        client = self.clients[number]
        if client.member_id:
            self.world.leave(LeavingMember(client.member_id, client.instance_id))
            client.forget()
        self.hear_answers()

    @rule(number=clients_drawn)
    def crash(self, number: int) -> None:
        self.clients[number].forget()

    @rule(milliseconds=st.sampled_from([1, 2_999, SESSION_MS // 2, SESSION_MS, REBALANCE_MS]))
    def time_passes(self, milliseconds: int) -> None:
        self.world.time.advance(milliseconds)
        self.hear_answers()

    # -- results of appends

    @rule()
    def writes_stall(self) -> None:
        if not self.world.topic.held_count:
            self.world.topic.hold()

    @rule(preference=st.sampled_from(PREFERENCES))
    def a_rebalance_overtakes_a_write(self, preference: tuple[str, ...]) -> None:
        self.writes_stall()
        self.all_who_can_sync()
        self.those_who_know_each_other_rebalance(preference)

    @rule()
    def writes_go_on(self) -> None:
        self.world.topic.release()
        self.hear_answers()

    @rule(fail=st.booleans())
    def writes_fail_or_not(self, fail: bool) -> None:
        self.world.topic.refuse(NotLeaderOrFollowerError() if fail else None)
        self.has_log_failed |= fail

    @precondition(lambda self: not self.world.topic.held_count)
    @rule()
    def offsets_expire(self) -> None:
        self.world.parts.administration.expire()
        if self.world.find() is None:
            self.begin_life()

    # -- replies to clients

    def hear_answers(self) -> None:
        for client in self.clients:
            if client.join_call is not None and client.join_call.is_answered:
                self.hear_join(client, client.join_call.result)
            if client.sync_call is not None and client.sync_call.is_answered:
                self.hear_sync(client, client.sync_call)

    def hear_join(self, client: Client, result: JoinResult) -> None:
        client.join_call = None
        client.joined = None
        if result.error is ErrorCode.MEMBER_ID_REQUIRED:
            client.member_id = result.member_id
        elif result.error is not ErrorCode.NONE:
            self.note_error(client, result.error)
        else:
            client.member_id, client.joined, client.is_of_former_life = result.member_id, result, False
            self.check_generation(result)

    def check_generation(self, result: JoinResult) -> None:
        generation_id = result.generation_id
        assert generation_id >= self.newest_generation, "a generation came back"
        self.newest_generation = generation_id
        leader = identity(result.leader_id)
        assert self.leaders.setdefault(generation_id, leader) == leader, "two leaders in a generation"
        protocol = self.protocols.setdefault(generation_id, result.protocol_name)
        assert protocol == result.protocol_name, "two protocols in a generation"
        assert bool(result.members) == (result.leader_id == result.member_id)

    def hear_sync(self, client: Client, call: SyncCall) -> None:
        client.sync_call = None
        assert client.joined is not None
        if call.result.error is ErrorCode.NONE:
            generation_id = client.joined.generation_id
            assert generation_id == self.newest_generation
            assert not client.is_of_former_life
            assert call.result.assignment == f"{generation_id} {identity(client.member_id)}".encode()
        else:
            self.note_error(client, call.result.error)

    def note_error(self, client: Client, error: ErrorCode) -> None:
        if error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED):
            client.forget()
        elif error is not ErrorCode.NONE and error is not ErrorCode.REBALANCE_IN_PROGRESS:
            client.joined = None

    # -- invariants

    @invariant()
    def the_books_are_right(self) -> None:
        group = self.world.find()
        if group is None:
            return
        members = group.members
        assert all(member.member_id == member_id for member_id, member in members.items())
        assert group.awaiting_join_count == sum(member.is_awaiting_join for member in members.values())
        assert group.static_members == {
            member.group_instance_id: member_id for member_id, member in members.items() if member.is_static
        }
        assert (group.leader_id in members) if members else group.leader_id is None
        assert not set(group.pending_members) & set(members)
        assert set(group.pending_sync) <= set(members)
        if members:
            assert group.select_protocol() in {"range", "robin"}

    @invariant()
    def states_fit_their_members_and_timers(self) -> None:
        group = self.world.find()
        if group is None:
            return
        match group.state:
            case GroupState.EMPTY:
                assert not group.members
                assert group.protocol_name is None
            case GroupState.PREPARING_REBALANCE:
                assert group.join_timer is not None
                assert not group.have_all_joined or group.is_in_initial_delay
                assert not any(member.sync_reply for member in group.members.values())
            case GroupState.COMPLETING_REBALANCE:
                assert group.members
                assert (group.sync_timer is not None) == bool(group.pending_sync)
                assert group.awaiting_join_count == 0
            case GroupState.STABLE:
                assert group.members
                assert not any(member.sync_reply for member in group.members.values())
                assert group.awaiting_join_count == 0 or self.world.topic.held_count
        if group.state is not GroupState.PREPARING_REBALANCE:
            assert group.join_timer is None

    @invariant()
    def nobody_stays_for_ever(self) -> None:
        group = self.world.find()
        for member in group.members.values() if group else ():
            assert member.session_timer is not None or member.is_excused_from_heartbeats

    @invariant()
    def the_group_is_no_larger_than_allowed(self) -> None:
        group = self.world.find()
        if group is not None and group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            static_count = len(group.static_members)
            assert len(group.members) <= max(self.max_size, static_count)

    @invariant()
    def what_the_log_says_is_what_we_know(self) -> None:
        if self.world.topic.held_count:
            return
        group = self.world.find()
        loaded = self.loaded()
        if group is None:
            assert loaded is None or not loaded.members or self.has_log_failed
            return
        live = {key: record.value.offset for key, record in group.offsets.committed.items()}
        assert live == ({key: r.value.offset for key, r in loaded.offsets.committed.items()} if loaded else {})
        if group.state is GroupState.STABLE:
            assert loaded is not None
            assert loaded.generation_id == group.generation_id
            assert {m.member_id: m.assignment for m in loaded.members.values()} == {
                m.member_id: m.assignment for m in group.members.values()
            }

    def loaded(self) -> Group | None:
        replay = Replay(0, 0)
        for partition in self.world.topic.batches:
            for buffer in partition:
                for batch in iter_batches(buffer):
                    replay.add(batch)
        found = next((group for group in replay.entries() if group.group_id == "g"), None)
        assert found is None or isinstance(found, Group)
        return found

    def teardown(self) -> None:
        """With a working log and no new requests, all are answered and the group ends empty, without timers."""
        self.world.topic.refuse(None)
        self.world.topic.release()
        self.hear_answers()
        self.world.time.advance(20 * REBALANCE_MS)
        self.hear_answers()
        for client in self.clients:
            assert client.join_call is None
            assert client.sync_call is None
        assert self.world.time.armed_count == 0
        group = self.world.find()
        assert group is None or group.state is GroupState.EMPTY


GroupMachine.TestCase.settings = settings(max_examples=examples(200), stateful_step_count=40)
TestGroupMachine = GroupMachine.TestCase
