"""OffsetCommit and OffsetFetch: OffsetFetch returns the offsets that OffsetCommit stored."""

from uuid import UUID

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.groups.offset_commit import OffsetCommit
from pybroker.broker.apis.groups.offset_fetch import OffsetFetch
from pybroker.broker.coordinator.group.coordinator import GroupCoordinator
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.broker.requests.duplicate_names import MAX_DUPLICATES
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import NULL_UUID
from pybroker.protocol.errors import ErrorCode, KafkaError, UnknownServerError
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from support.in_process.group_handlers import call, owning_coordinator, versions

NOW_MS = 5_000
LAST_WITH_NAMES = 9


class Tree:
    """Offsets in the metadata tree, in memory."""

    def __init__(self) -> None:
        self.offsets: dict[tuple[str, TopicPartition], int] = {}
        self.error: KafkaError | None = None

    async def get(self, group_id: str, partition: TopicPartition) -> int | None:
        if self.error is not None:
            raise self.error
        return self.offsets.get((group_id, partition))

    async def set(self, group_id: str, partition: TopicPartition, offset: int) -> None:
        if self.error is not None:
            raise self.error
        self.offsets[group_id, partition] = offset


def topic_exists(topic: str, partition: int) -> bool:
    return topic in ("a", "b") and 0 <= partition < 2


class TopicIds:
    """The ids of the topics a and b."""

    def topic_id(self, topic: str) -> UUID:
        return UUID(int=ord(topic)) if topic in ("a", "b") else NULL_UUID

    def topic_name(self, topic_id: UUID) -> str | None:
        return {UUID(int=ord(topic)): topic for topic in "ab"}.get(topic_id)


class Handlers:
    def __init__(self, coordinator: GroupCoordinator) -> None:
        self.coordinator = coordinator
        self.tree = Tree()
        self.commit = OffsetCommit(coordinator.commits, topic_exists, self.tree, TopicIds())
        self.fetch = OffsetFetch(coordinator.commits, topic_exists, self.tree, TopicIds())

    async def commit_offsets(self, version: int, *offsets: tuple[str, int, int], **fields: object) -> dict[object, int]:
        """Commit each (topic, partition, offset). Returns error codes by (topic, partition)."""
        topics: dict[str, list[OffsetCommitRequestPartition]] = {}
        for topic, partition, offset in offsets:
            topics.setdefault(topic, []).append(
                OffsetCommitRequestPartition(
                    partition_index=partition, committed_offset=offset, committed_leader_epoch=4, committed_metadata="m"
                )
            )
        request = OffsetCommitRequest(
            group_id="g", topics=[OffsetCommitRequestTopic(name=name, partitions=each) for name, each in topics.items()]
        )
        for name, value in fields.items():
            setattr(request, name, value)
        response = await call(self.commit, version, request, now_ms=NOW_MS)
        return {
            (topic.name, one.partition_index): one.error_code for topic in response.topics for one in topic.partitions
        }

    async def fetch_offsets(
        self, version: int, *partitions: tuple[str, int], all_of_them: bool = False
    ) -> tuple[int, dict[object, tuple[int, int, str | None, int]]]:
        """The group's error, and (offset, leader epoch, metadata, error) by (topic, partition)."""
        topics: dict[str, list[int]] = {}
        for topic, partition in partitions:
            topics.setdefault(topic, []).append(partition)
        if version < 8:
            single = [OffsetFetchRequestTopic(name=name, partition_indexes=each) for name, each in topics.items()]
            request = OffsetFetchRequest(group_id="g", topics=None if all_of_them else single)
        else:
            batched = [OffsetFetchRequestTopics(name=name, partition_indexes=each) for name, each in topics.items()]
            request = OffsetFetchRequest(
                groups=[OffsetFetchRequestGroup(group_id="g", topics=None if all_of_them else batched)]
            )
        return shown(version, await call(self.fetch, version, request))


def shown(version: int, response: OffsetFetchResponse) -> tuple[int, dict[object, tuple[int, int, str | None, int]]]:
    answer = response if version < 8 else response.groups[0]
    return answer.error_code, {
        (topic.name, one.partition_index): (
            one.committed_offset,
            one.committed_leader_epoch,
            one.metadata,
            one.error_code,
        )
        for topic in answer.topics
        for one in topic.partitions
    }


async def handlers(settings: GroupSettings | None = None) -> Handlers:
    coordinator, _, _ = await owning_coordinator(settings or GroupSettings(initial_rebalance_delay_ms=0))
    return Handlers(coordinator)


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_COMMIT, first=1, last=LAST_WITH_NAMES))
async def test_every_version_commits_offsets_and_refuses_unknown_partitions(version: int) -> None:
    broker = await handlers()

    codes = await broker.commit_offsets(version, ("a", 0, 5), ("a", 7, 5), ("nowhere", 0, 5), ("b", 1, 6))

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {("a", 0): 0, ("a", 7): unknown, ("nowhere", 0): unknown, ("b", 1): 0}
    group = broker.coordinator.registry.get("g")
    assert group is not None
    value = group.offsets.get(TopicPartition("a", 0))
    assert value is not None
    assert (value.offset, value.metadata, value.commit_timestamp_ms) == (5, "m", NOW_MS)
    assert value.leader_epoch == (4 if version >= 6 else -1)


async def test_a_commit_for_unknown_partitions_alone_is_answered_at_once() -> None:
    broker = await handlers()
    assert await broker.commit_offsets(8, ("nowhere", 0, 5)) == {("nowhere", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert await broker.commit_offsets(8) == {}
    assert broker.coordinator.registry.get("g") is None


async def test_offset_commit_version_1_has_a_timestamp_for_each_offset() -> None:
    broker = await handlers()
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1, commit_timestamp=77)
    request = OffsetCommitRequest(group_id="g", topics=[OffsetCommitRequestTopic(name="a", partitions=[partition])])
    await call(broker.commit, 1, request, now_ms=NOW_MS)
    group = broker.coordinator.registry.get("g")
    assert group is not None
    value = group.offsets.get(TopicPartition("a", 0))
    assert value is not None
    assert value.commit_timestamp_ms == 77


@pytest.mark.parametrize("version", [2, 3, 4])
async def test_offset_commit_versions_2_to_4_have_a_retention_time(version: int) -> None:
    broker = await handlers()
    await broker.commit_offsets(version, ("a", 0, 1), retention_time_ms=1_000)
    await broker.commit_offsets(version, ("a", 1, 1))
    group = broker.coordinator.registry.get("g")
    assert group is not None
    first, second = group.offsets.get(TopicPartition("a", 0)), group.offsets.get(TopicPartition("a", 1))
    assert first is not None
    assert second is not None
    assert (first.expire_timestamp_ms, second.expire_timestamp_ms) == (NOW_MS + 1_000, None)


async def test_a_retention_past_64_bits_never_expires() -> None:
    broker = await handlers()
    assert await broker.commit_offsets(4, ("a", 0, 1), retention_time_ms=2**63 - 1) == {("a", 0): 0}
    group = broker.coordinator.registry.get("g")
    assert group is not None
    value = group.offsets.get(TopicPartition("a", 0))
    assert value is not None
    assert value.expire_timestamp_ms == 2**63 - 1


async def test_a_commit_of_a_wrong_generation_is_refused_for_each_partition() -> None:
    broker = await handlers()
    codes = await broker.commit_offsets(8, ("a", 0, 1), ("zz", 0, 1), member_id="m", generation_id_or_member_epoch=3)
    assert codes == {("a", 0): ErrorCode.ILLEGAL_GENERATION, ("zz", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH, first=1, last=LAST_WITH_NAMES))
async def test_every_version_fetches_offsets(version: int) -> None:
    broker = await handlers()
    await broker.commit_offsets(8, ("a", 0, 5))

    error, offsets = await broker.fetch_offsets(version, ("a", 0), ("a", 1), ("nowhere", 0))

    epoch = 4 if version >= 5 else -1
    nothing = (-1, -1, "", 0)
    assert error == 0
    assert offsets == {("a", 0): (5, epoch, "m", 0), ("a", 1): nothing, ("nowhere", 0): nothing}


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH, first=2, last=LAST_WITH_NAMES))
async def test_null_topics_fetch_all_committed_offsets(version: int) -> None:
    broker = await handlers()
    await broker.commit_offsets(8, ("a", 0, 5), ("b", 1, 6))
    error, offsets = await broker.fetch_offsets(version, all_of_them=True)
    assert (error, {key: value[0] for key, value in offsets.items()}) == (0, {("a", 0): 5, ("b", 1): 6})


async def test_offset_fetch_version_8_fetches_offsets_of_many_groups() -> None:
    broker = await handlers()
    await broker.commit_offsets(8, ("a", 0, 5))
    request = OffsetFetchRequest(
        groups=[OffsetFetchRequestGroup(group_id=group_id, topics=None) for group_id in ("g", "other")]
    )
    response = await call(broker.fetch, 8, request)
    assert [(group.group_id, group.error_code, len(group.topics)) for group in response.groups] == [
        ("g", 0, 1),
        ("other", 0, 0),
    ]


@pytest.mark.parametrize("version", versions(ApiKey.OFFSET_FETCH, first=1, last=LAST_WITH_NAMES))
async def test_an_error_of_the_group_is_at_the_top_or_in_each_partition_by_version(version: int) -> None:
    broker = await handlers()
    for partition in range(4):
        broker.coordinator.partitions.unload(partition)
    error, offsets = await broker.fetch_offsets(version, ("a", 0))
    if version == 1:
        assert offsets == {("a", 0): (-1, -1, "", ErrorCode.NOT_COORDINATOR)}
    else:
        assert (error, offsets) == (ErrorCode.NOT_COORDINATOR, {})


async def test_offsets_in_an_open_transaction_are_unstable_when_stable_offsets_are_required() -> None:
    broker = await handlers()
    await broker.commit_offsets(8, ("a", 0, 5))
    group = broker.coordinator.registry.get("g")
    assert group is not None
    value = group.offsets.get(TopicPartition("a", 0))
    assert value is not None
    group.offsets.stage_transactional(1, {TopicPartition("a", 0): value})
    topics = [OffsetFetchRequestTopic(name="a", partition_indexes=[0])]
    for require_stable, expected in ((True, (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)), (False, (5, 0))):
        request = OffsetFetchRequest(group_id="g", topics=topics, require_stable=require_stable)
        partition = (await call(broker.fetch, 7, request)).topics[0].partitions[0]
        assert (partition.committed_offset, partition.error_code) == expected


# -- version 0: the metadata tree


async def test_version_0_stores_offsets_in_the_metadata_tree() -> None:
    broker = await handlers(GroupSettings(metadata_max_bytes=1))
    assert await broker.commit_offsets(0, ("a", 0, 5), ("a", 9, 5)) == {
        ("a", 0): 0,
        ("a", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert broker.tree.offsets == {("g", TopicPartition("a", 0)): 5}
    _, offsets = await broker.fetch_offsets(0, ("a", 0), ("a", 1), ("nowhere", 0))
    unknown = (-1, -1, "", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert offsets == {("a", 0): (5, -1, "", 0), ("a", 1): unknown, ("nowhere", 0): unknown}
    assert broker.coordinator.registry.get("g") is None


async def test_version_0_has_the_same_limit_for_offset_metadata() -> None:
    broker = await handlers(GroupSettings(metadata_max_bytes=0))
    assert await broker.commit_offsets(0, ("a", 0, 5)) == {("a", 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}


async def test_an_unreachable_metadata_tree_is_an_error_of_each_partition() -> None:
    broker = await handlers()
    broker.tree.error = UnknownServerError()
    assert await broker.commit_offsets(0, ("a", 0, 5)) == {("a", 0): ErrorCode.UNKNOWN_SERVER_ERROR}
    _, offsets = await broker.fetch_offsets(0, ("a", 0))
    assert offsets == {("a", 0): (-1, -1, "", ErrorCode.UNKNOWN_SERVER_ERROR)}


async def test_offset_fetch_answers_a_group_named_very_often_once() -> None:
    broker = await handlers()
    await broker.commit_offsets(9, ("a", 0, 5), ("b", 1, 6))

    def of(*partitions: tuple[str, int]) -> OffsetFetchRequestGroup:
        topics = [OffsetFetchRequestTopics(name=name, partition_indexes=[index]) for name, index in partitions]
        return OffsetFetchRequestGroup(group_id="g", topics=topics)

    async def ask(*groups: OffsetFetchRequestGroup) -> list[set[object]]:
        response = await call(broker.fetch, 8, OffsetFetchRequest(groups=list(groups)))
        return [
            {
                (topic.name, one.partition_index, one.committed_offset)
                for topic in group.topics
                for one in topic.partitions
            }
            for group in response.groups
        ]

    everything = OffsetFetchRequestGroup(group_id="g", topics=None)
    assert await ask(everything, of(("a", 0))) == [{("a", 0, 5), ("b", 1, 6)}, {("a", 0, 5)}]
    often = [of(("a", 0))] * MAX_DUPLICATES
    assert await ask(*often, of(("b", 1), ("a", 0))) == [{("a", 0, 5), ("b", 1, 6)}]
    assert await ask(*often, everything, of(("a", 1))) == [{("a", 0, 5), ("b", 1, 6)}]
    assert await ask(of(("a", 0)), OffsetFetchRequestGroup(group_id="other", topics=[])) == [{("a", 0, 5)}, set()]
