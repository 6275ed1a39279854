"""The number of partitions by which coordinators find entries stays when their topic grows."""

from uuid import UUID

import pytest
from pybroker.broker.coordinator.kept_count import KeptPartitionCount
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

TOPIC = "__consumer_offsets"
OLD, NEW = UUID(int=1), UUID(int=2)


def tell(cache: MetadataCache, count: int, topic_id: UUID = OLD) -> None:
    """The controller tells the partitions of the topic."""
    states = [UpdateMetadataPartitionState(partition_index=index, leader=1) for index in range(count)]
    topic = UpdateMetadataTopicState(topic_name=TOPIC, topic_id=topic_id, partition_states=states)
    cache.update(UpdateMetadataRequest(topic_states=[topic]))


def test_number_of_partitions_stays_as_the_first_metadata_tells_it_when_the_topic_grows() -> None:
    cache = MetadataCache()
    count = KeptPartitionCount(TOPIC, 50, cache)
    assert count.value == 50
    for partitions in (2, 3):
        tell(cache, partitions)
        assert count.value == 2


def test_number_of_partitions_is_not_kept_from_metadata_without_a_partition_that_was_read() -> None:
    cache = MetadataCache()
    count = KeptPartitionCount(TOPIC, 50, cache)
    for partition in (3, 0):
        count.note_read(partition)
    for partitions in (3, 5, 6):
        tell(cache, partitions)
        assert count.value == min(partitions, 5)


@pytest.mark.parametrize("is_gone_first", [False, True], ids=["replaced at once", "gone for a while"])
def test_number_of_partitions_is_that_of_the_topic_made_after_a_deletion(is_gone_first: bool) -> None:
    cache = MetadataCache()
    count = KeptPartitionCount(TOPIC, 50, cache)
    tell(cache, 2)
    if is_gone_first:
        cache.forget([TOPIC])
        assert count.value == 50
    tell(cache, 3, NEW)
    assert count.value == 3


def test_number_of_partitions_is_kept_too_of_a_topic_made_after_a_deletion_with_fewer_partitions() -> None:
    cache = MetadataCache()
    count = KeptPartitionCount(TOPIC, 50, cache)
    tell(cache, 50)
    count.note_read(49)
    cache.forget([TOPIC])
    for partitions in (10, 20):
        tell(cache, partitions, NEW)
        assert count.value == 10
