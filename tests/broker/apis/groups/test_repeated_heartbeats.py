"""A heartbeat that repeats the one before it is answered without being decoded, and as the general path answers it."""

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.acls import AclOperation, AclResourceType
from pybroker.broker.apis.groups.consumer_group_heartbeat import ConsumerGroupHeartbeat
from pybroker.broker.apis.groups.repeated_heartbeats import RepeatedHeartbeat, RepeatedHeartbeats
from pybroker.broker.network.request import ConnectionInfo, LaterReply, Request
from pybroker.broker.network.request_header import RequestHeaderParser
from pybroker.broker.requests.context import RequestContext
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.broker.requests.group_features import GroupFeature, WhileServed
from pybroker.broker.requests.served_versions import served_versions
from pybroker.config.load import load_config
from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from pybroker.protocol.messages.headers import RequestHeader
from support.in_process.authorized_broker import RecordingAuthorizer
from support.in_process.consumer_groups import GROUP, Topics
from support.in_process.consumer_world import ConsumerWorld
from support.in_process.rights_table import Ask

KEY = ApiKey.CONSUMER_GROUP_HEARTBEAT
RESPONSE_HEADER_BYTES = 5
VERSIONS = served_versions(load_config(""))
READ_GROUP = Ask(AclOperation.READ, AclResourceType.GROUP, GROUP, False)
Reply = ConsumerGroupHeartbeatResponse


class Handler(ConsumerGroupHeartbeat):
    """Counts heartbeats that were not decoded, and has the general path answer each of them too if ``compares``."""

    def __init__(self, world: ConsumerWorld) -> None:
        super().__init__(world.coordinator.consumers)
        self.compares = True
        self.repeated = 0
        self.differences: list[tuple[object, object]] = []
        self._world = world

    def __call__(self, context: RequestContext, request: ConsumerGroupHeartbeatRequest | RepeatedHeartbeat) -> Any:
        response = super().__call__(context, request)
        if isinstance(request, RepeatedHeartbeat):
            self.repeated += 1
            if self.compares:
                self._compare(context, request)
        return response

    def _compare(self, context: RequestContext, request: RepeatedHeartbeat) -> None:
        batches = self._world.batch_count
        decoded = decode(ConsumerGroupHeartbeatRequest, request.body, context.api_version)
        general = super().__call__(context, decoded)
        body = encode(general, context.api_version) if isinstance(general, Message) else None
        if (body, self._world.batch_count) != (request.encode_body(0), batches):
            self.differences.append((request.encode_body(0), general))


class Client:
    """One connection of a member."""

    def __init__(self, handler: Handler, member_id: str) -> None:
        self.handler = handler
        self.feature: GroupFeature | None = None
        self.authorizer: RecordingAuthorizer | None = None
        self.member_id = member_id
        self.client_id = "client"
        self.info = ConnectionInfo("PLAINTEXT", "PLAINTEXT", ("10.0.0.1", 9092), ("10.0.0.7", 50_000))
        self.epoch = 0
        self.assigned: Assignment | None = None
        self.throttle_time_ms = 0

    def begin(self, version: int = 1, **fields: Any) -> Any:
        """Send a heartbeat; returns its reply as the network layer gets it."""
        fields = {"group_id": GROUP, "member_id": self.member_id, "member_epoch": self.epoch, **fields}
        header = RequestHeader(
            request_api_key=KEY, request_api_version=version, correlation_id=7, client_id=self.client_id
        )
        frame = bytearray(encode(header, API_SPECS[KEY].request_header_version(version)))
        frame += encode(ConsumerGroupHeartbeatRequest(**fields), version)
        size = RequestHeaderParser().parse(frame)[-1]
        request = Request(KEY, version, 7, self.client_id, size, frame, self.info, 1_000)
        request.throttle_time_ms = self.throttle_time_ms
        handler = self.handler if self.feature is None else WhileServed(self.handler, self.feature)
        reply = Dispatcher({KEY: handler}, authorizer=self.authorizer, versions=VERSIONS)(request)
        assert self.handler.differences == []
        return reply

    async def send(self, version: int = 1, **fields: Any) -> Reply:
        reply = self.begin(version, **fields)
        if isinstance(reply, LaterReply):
            await asyncio.wait([reply.future])
            reply = reply.settle()
        response = decode(ConsumerGroupHeartbeatResponse, b"".join(reply)[RESPONSE_HEADER_BYTES:], version)
        if not response.error_code:
            self.epoch = response.member_epoch
            self.assigned = response.assignment or self.assigned
        return response

    async def join(self, **fields: Any) -> Reply:
        self.epoch = 0
        joining: dict[str, Any] = {"subscribed_topic_names": ["t"], **fields}
        return await self.send(rebalance_timeout_ms=60_000, topic_partitions=[], **joining)

    async def tell(self) -> Reply:
        """Say that the member has all that it was assigned."""
        topics = [] if self.assigned is None else self.assigned.topic_partitions
        own = [RequestTopicPartitions(topic_id=each.topic_id, partitions=each.partitions) for each in topics]
        return await self.send(topic_partitions=own)


async def settled_member() -> tuple[ConsumerWorld, Handler, Client]:
    """A member whose last heartbeat was answered without being decoded."""
    world = await ConsumerWorld.loaded(Topics(t=2))
    handler = Handler(world)
    client = Client(handler, "a")
    await client.join()
    for _ in range(2):
        await client.send()
    assert handler.repeated == 1
    return world, handler, client


@pytest.mark.parametrize("version", [0, 1])
async def test_the_second_heartbeat_that_tells_nothing_is_not_decoded(version: int) -> None:
    handler = Handler(await ConsumerWorld.loaded(Topics(t=2)))
    client = Client(handler, "a")
    await client.join()
    client.throttle_time_ms = 70
    for _ in range(3):
        response = await client.send(version)
        assert (response.error_code, response.member_id, response.member_epoch) == (0, "a", 1)
        assert (response.heartbeat_interval_ms, response.assignment, response.throttle_time_ms) == (5_000, None, 70)
    assert handler.repeated == 2


async def test_repeated_heartbeats_keep_the_session_and_silence_ends_it() -> None:
    world, handler, client = await settled_member()
    handler.compares = False
    for _ in range(4):
        world.time.advance(40_000)
        assert (await client.send()).error_code == 0
    assert handler.repeated == 5
    world.time.advance(45_000)
    assert (await client.send()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert handler.repeated == 5


async def test_another_member_is_seen_in_the_next_heartbeat() -> None:
    _world, handler, client = await settled_member()
    await Client(handler, "b").join()
    response = await client.send()
    assert response.assignment is not None
    (topic,) = response.assignment.topic_partitions
    assert len(topic.partitions) == 1


async def test_partitions_that_a_topic_gets_are_seen_in_the_next_heartbeat() -> None:
    world, _handler, client = await settled_member()
    world.topics.create("t", 3)
    world.coordinator.consumers.topics_changed(["t"])
    response = await client.send()
    assert response.assignment is not None
    (topic,) = response.assignment.topic_partitions
    assert topic.partitions == [0, 1, 2]


async def test_another_heartbeat_interval_of_the_group_is_told() -> None:
    world, _handler, client = await settled_member()
    world.own_settings["consumer.heartbeat.interval.ms"] = "7000"
    assert (await client.send()).heartbeat_interval_ms == 7_000


async def test_another_client_id_is_described() -> None:
    world, _handler, client = await settled_member()
    client.client_id = "other"
    await client.send()
    assert world.group.members["a"].metadata.client_id == "other"


async def test_a_repeated_heartbeat_needs_the_right_to_read_the_group() -> None:
    _world, _handler, client = await settled_member()
    client.authorizer = RecordingAuthorizer({READ_GROUP})
    assert (await client.send()).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


async def test_a_group_that_another_broker_coordinates_is_not_answered_for() -> None:
    world, _handler, client = await settled_member()
    world.coordinator.partitions.unload(world.coordinator.registry.partition_for(GROUP), 1)
    assert (await client.send()).error_code == ErrorCode.NOT_COORDINATOR


async def test_a_load_that_is_not_committed_is_not_answered_from() -> None:
    world, handler, client = await settled_member()
    world.log.uncommitted_loads.add(world.coordinator.registry.partition_for(GROUP))
    assert (await client.send()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.uncommitted_loads.clear()
    assert (await client.send()).error_code == 0
    assert handler.repeated == 1


async def test_a_repeated_heartbeat_waits_until_the_changes_before_it_are_replicated() -> None:
    world, handler, client = await settled_member()
    world.log.replicas.clear()
    world.send("a", client.epoch, rack_id="r")
    reply = client.begin()
    assert isinstance(reply, LaterReply)
    await asyncio.sleep(0)
    assert not reply.future.done()
    world.log.replicas.set()
    await asyncio.wait([reply.future])
    assert handler.repeated == 1


async def test_heartbeats_of_a_group_with_patterns_are_decoded_so_that_topics_are_looked_up() -> None:
    handler = Handler(await ConsumerWorld.loaded(Topics(t=2)))
    client = Client(handler, "a")
    await client.join(subscribed_topic_names=None, subscribed_topic_regex="t.*")
    for _ in range(3):
        await client.send()
    assert handler.repeated == 0


async def test_another_request_on_the_connection_is_not_taken_for_a_repetition() -> None:
    _world, handler, client = await settled_member()
    assert (await client.send(member_id="b")).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    await client.send()
    assert (
        await client.send(group_id="of\x02g")
    ).error_code == ErrorCode.GROUP_ID_NOT_FOUND  # ends with the same bytes
    for _ in range(2):
        assert (await client.send(member_epoch=0)).error_code == ErrorCode.INVALID_REQUEST
    assert (await client.send(member_epoch=-1)).member_epoch == -1
    assert handler.repeated == 1


async def test_heartbeats_that_name_topics_are_decoded_because_each_needs_the_rights_to_them() -> None:
    _world, handler, client = await settled_member()
    for _ in range(3):
        assert (await client.send(subscribed_topic_names=["t"])).error_code == 0
    assert handler.repeated == 1


async def test_long_heartbeats_are_decoded_so_that_connections_keep_little() -> None:
    _world, handler, client = await settled_member()
    for _ in range(3):
        assert (await client.send(rack_id="r" * 1024)).error_code == 0
    assert handler.repeated == 1


async def test_a_connection_keeps_texts_and_numbers_of_a_heartbeat_and_not_its_member() -> None:
    _world, _handler, client = await settled_member()
    kept = {type(each) for each in gc.get_referents(client.info.last_heartbeat)}
    assert kept - {type} == {bytes, str, int, object}


async def test_a_new_epoch_makes_the_heartbeat_of_the_old_one_refused() -> None:
    world, _handler, client = await settled_member()
    world.topics.delete("t")
    world.topics.create("t", 2)
    world.coordinator.consumers.topics_changed(["t"])
    await client.send()
    await client.tell()
    assert client.epoch == 2
    for _ in range(2):
        assert (await client.send(member_epoch=1)).error_code == ErrorCode.FENCED_MEMBER_EPOCH


async def test_partitions_that_another_member_gave_back_are_told_once() -> None:
    _world, handler, client = await settled_member()
    other = Client(handler, "b")
    await other.join()
    assert (await client.send()).assignment is not None
    await client.tell()
    assert [(await other.send()).assignment is None for _ in range(3)] == [False, True, True]


async def test_partitions_of_a_member_that_has_left_are_told() -> None:
    _world, handler, client = await settled_member()
    other = Client(handler, "b")
    await other.join()
    await client.send()
    await client.tell()
    await other.send()
    await other.tell()
    for _ in range(2):
        assert (await client.send()).assignment is None
    await other.send(member_epoch=-1)
    response = await client.send()
    assert response.assignment is not None
    assert response.assignment.topic_partitions[0].partitions == [0, 1]


async def test_errors_are_not_repeated() -> None:
    _world, handler, client = await settled_member()
    for _ in range(2):
        assert (await client.send(instance_id="i")).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    await Client(handler, "b").join(subscribed_topic_names=["u"], instance_id="i")
    assert (await client.send(instance_id="i")).error_code == ErrorCode.FENCED_INSTANCE_ID


@pytest.mark.parametrize("changes", [{"member_epoch": 2}, {"assignment": Assignment()}])
async def test_responses_with_a_new_epoch_or_an_assignment_are_not_repeated(changes: dict[str, Any]) -> None:
    world, _handler, client = await settled_member()
    codec = RepeatedHeartbeats(world.coordinator.consumers)
    message = ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="a", member_epoch=1)
    request = Request(KEY, 1, 7, "client", 0, bytearray(encode(message, 1)), client.info, 1_000)
    codec.learn(
        request, message, Reply(**{"member_id": "a", "member_epoch": 1, "heartbeat_interval_ms": 5_000, **changes})
    )
    assert codec.decode(request) is None


async def test_a_broker_that_stops_answers_no_repeated_heartbeat() -> None:
    world, _handler, client = await settled_member()
    world.coordinator.registry.ownership.is_active = False
    assert (await client.send()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


@pytest.mark.parametrize("has_level", [True, False])
async def test_repeated_heartbeats_are_refused_while_the_protocol_is_switched_off(has_level: bool) -> None:
    _world, handler, client = await settled_member()

    class Levels:
        def level(self, name: str) -> int:
            return int(has_level)

    client.feature = GroupFeature(
        Levels(),  # type: ignore[arg-type]
        "group.version",
        is_asked_for=True,
        is_in_cluster=True,
    )
    assert (await client.send()).error_code == (0 if has_level else ErrorCode.UNSUPPORTED_VERSION)
    assert handler.repeated == 1 + has_level


async def _grow(world: ConsumerWorld, clients: list[Client]) -> None:
    world.topics.create("t", world.topics.partition_count("t") + 1)
    world.coordinator.consumers.topics_changed(["t"])


async def _make_anew(world: ConsumerWorld, clients: list[Client]) -> None:
    world.topics.delete("t")
    world.topics.create("t", 2)
    world.coordinator.consumers.topics_changed(["t"])


async def _wait(world: ConsumerWorld, clients: list[Client]) -> None:
    world.time.advance(20_000)


async def _set_interval(world: ConsumerWorld, clients: list[Client]) -> None:
    world.own_settings["consumer.heartbeat.interval.ms"] = str(6_000 + 1_000 * len(world.own_settings))


def _of(number: int, act: Callable[[Client], Any]) -> Callable[[ConsumerWorld, list[Client]], Any]:
    return lambda world, clients: act(clients[number])


ACTIONS: list[Callable[[ConsumerWorld, list[Client]], Any]] = [_grow, _make_anew, _wait, _set_interval]
for _number in range(2):
    ACTIONS += [
        _of(_number, Client.send),
        _of(_number, Client.send),
        _of(_number, Client.tell),
        _of(_number, Client.join),
        _of(_number, lambda client: client.send(member_epoch=-1)),
        _of(_number, lambda client: client.send(member_epoch=client.epoch - 1)),
        _of(_number, lambda client: client.send(subscribed_topic_names=["t", "u"])),
        _of(_number, lambda client: client.join(subscribed_topic_names=None, subscribed_topic_regex="t")),
    ]


@given(st.lists(st.sampled_from(ACTIONS), max_size=30))
async def test_whatever_happened_a_repeated_heartbeat_is_answered_as_if_decoded(
    actions: list[Callable[[ConsumerWorld, list[Client]], Any]],
) -> None:
    world = await ConsumerWorld.loaded(Topics(t=2, u=1))
    handler = Handler(world)  # it compares the answers
    clients = [Client(handler, "a"), Client(handler, "b")]
    for client in clients:
        await client.join()
    for act in actions:
        await act(world, clients)
