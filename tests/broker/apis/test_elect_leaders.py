"""ElectLeaders: the response comes when the metadata has the new leaders."""

import asyncio
from collections.abc import Iterable, Mapping

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.cluster.elect_leaders import ElectLeaders
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.broker.metadata.topic_waiters import TopicWaiters
from pybroker.controller.leader_election import ElectionStrategy
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import (
    ElectionNotNeededError,
    ErrorCode,
    KafkaError,
    NotControllerError,
    PreferredLeaderNotAvailableError,
    UnknownServerError,
)
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from support.in_process.group_handlers import call, versions

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


class Elector:
    """A controller with set results. It updates the metadata cache, unless ``is_slow``."""

    def __init__(self, cache: MetadataCache) -> None:
        self.cache = cache
        self.outcomes: dict[TopicPartition, int | KafkaError] = {}
        self.asked: list[tuple[list[TopicPartition], ElectionStrategy]] = []
        self.is_active = True
        self.is_slow = False

    async def elect_leaders(
        self, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
    ) -> Mapping[TopicPartition, int | KafkaError]:
        if not self.is_active:
            raise NotControllerError()
        asked = list(partitions)
        self.asked.append((asked, strategy))
        outcomes = {partition: self.outcomes[partition] for partition in asked}
        if not self.is_slow:
            lead(self.cache, {p: leader for p, leader in outcomes.items() if isinstance(leader, int)})
        return outcomes


def lead(cache: MetadataCache, leaders: Mapping[TopicPartition, int]) -> None:
    topics = [
        UpdateMetadataTopicState(
            topic_name=topic,
            partition_states=[
                UpdateMetadataPartitionState(partition_index=partition.partition, leader=leader)
                for partition, leader in leaders.items()
                if partition.topic == topic
            ],
        )
        for topic in dict.fromkeys(partition.topic for partition in leaders)
    ]
    cache.update(UpdateMetadataRequest(controller_id=1, topic_states=topics))


class World:
    """Three partitions, all led by broker 2."""

    def __init__(self) -> None:
        self.cache = MetadataCache()
        lead(self.cache, {T0: 2, T1: 2, U0: 2})
        self.elector = Elector(self.cache)
        self.elector.outcomes = {
            T0: 1,
            T1: ElectionNotNeededError("not needed"),
            U0: PreferredLeaderNotAvailableError("nobody"),
        }
        self.handler = ElectLeaders(self.elector, self.cache, TopicWaiters(self.cache))

    async def ask(
        self,
        partitions: Mapping[str, list[int]] | None,
        *,
        version: int = 2,
        election_type: int = 0,
        timeout_ms: int = 1000,
    ) -> dict[TopicPartition, tuple[ErrorCode, str | None]]:
        topics = None
        if partitions is not None:
            topics = [TopicPartitions(topic=topic, partitions=indexes) for topic, indexes in partitions.items()]
        request = ElectLeadersRequest(election_type=election_type, topic_partitions=topics, timeout_ms=timeout_ms)
        response = await call(self.handler, version, request)
        assert response.error_code == ErrorCode.NONE
        return {
            TopicPartition(result.topic, partition.partition_id): (
                ErrorCode(partition.error_code),
                partition.error_message,
            )
            for result in response.replica_election_results
            for partition in result.partition_result
        }


@pytest.fixture
async def world() -> World:
    return World()


@pytest.mark.parametrize("version", versions(ApiKey.ELECT_LEADERS))
async def test_every_version_reports_a_result_for_each_partition(world: World, version: int) -> None:
    assert await world.ask({"t": [0, 1], "u": [0]}, version=version) == {
        T0: (ErrorCode.NONE, None),
        T1: (ErrorCode.ELECTION_NOT_NEEDED, "not needed"),
        U0: (ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "nobody"),
    }
    assert world.elector.asked == [([T0, T1, U0], ElectionStrategy.PREFERRED)]


async def test_election_for_all_partitions_reports_only_partitions_that_needed_one(world: World) -> None:
    assert {partition: code for partition, (code, _) in (await world.ask(None)).items()} == {
        T0: ErrorCode.NONE,
        U0: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    }
    assert world.elector.asked[0][0] == [T0, T1, U0]


@pytest.mark.parametrize("version", [1, 2])
async def test_an_unclean_election_reaches_the_controller_as_unclean(world: World, version: int) -> None:
    await world.ask({"t": [0]}, version=version, election_type=1)
    assert world.elector.asked == [([T0], ElectionStrategy.UNCLEAN)]


async def test_an_unknown_election_type_is_an_error(world: World) -> None:
    with pytest.raises(UnknownServerError):
        await world.ask({"t": [0]}, election_type=5)
    assert world.elector.asked == []


@pytest.mark.parametrize("timeout_ms", [0, 1])
async def test_a_leader_that_is_not_in_the_metadata_in_time_gets_request_timed_out(
    world: World, timeout_ms: int
) -> None:
    world.elector.is_slow = True
    results = await world.ask({"t": [0, 1]}, timeout_ms=timeout_ms)
    assert results[T0][0] is ErrorCode.REQUEST_TIMED_OUT
    assert results[T1][0] is ErrorCode.ELECTION_NOT_NEEDED


async def test_elect_leaders_sent_to_another_broker_gets_not_controller_for_each_partition(world: World) -> None:
    world.elector.is_active = False
    assert {code for code, _ in (await world.ask({"t": [0, 1]})).values()} == {ErrorCode.NOT_CONTROLLER}


async def test_elections_for_very_many_partitions_are_made_in_portions(world: World) -> None:
    many = [TopicPartition("many", index) for index in range(1200)]
    world.elector.outcomes |= dict.fromkeys(many, ElectionNotNeededError("not needed"))
    results = await world.ask({"many": [*range(1200), 7], "t": [0]})
    assert list(results) == [*many, T0]
    assert results[T0] == (ErrorCode.NONE, None)
    assert [len(asked) for asked, _ in world.elector.asked] == [500, 500, 201]


async def test_elections_made_before_the_controller_changed_are_reported(world: World) -> None:
    class UntilAsked(Elector):
        async def elect_leaders(
            self, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
        ) -> Mapping[TopicPartition, int | KafkaError]:
            outcomes = await super().elect_leaders(partitions, strategy)
            self.is_active = False
            return outcomes

    elector = UntilAsked(world.cache)
    elector.outcomes = dict.fromkeys((TopicPartition("t", index) for index in range(501)), 2)
    world.handler = ElectLeaders(elector, world.cache, TopicWaiters(world.cache))
    results = await world.ask({"t": list(range(501))})
    codes = [code for code, _ in results.values()]
    assert codes == [ErrorCode.NONE] * 500 + [ErrorCode.NOT_CONTROLLER]


async def test_elections_for_all_partitions_run_one_at_a_time(world: World) -> None:
    """A request of 27 bytes asks for all partitions; a thousand at once would hold a list of all partitions each."""
    going_on = asyncio.Event()

    class Patient(Elector):
        async def elect_leaders(
            self, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
        ) -> Mapping[TopicPartition, int | KafkaError]:
            outcomes = await super().elect_leaders(partitions, strategy)
            await going_on.wait()
            return outcomes

    world.elector.__class__ = Patient
    requests = [asyncio.ensure_future(world.ask(each)) for each in (None, None, {"t": [0]}, None)]
    for _ in range(50):
        await asyncio.sleep(0)
    assert [asked for asked, _ in world.elector.asked] == [[T0, T1, U0], [T0]]
    going_on.set()
    await asyncio.gather(*requests)
    assert len(world.elector.asked) == 4
