"""The records in a Fetch response: their format in each version, and the limits of their size."""

from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import (
    FetchResponse,
)
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.conversion import OVERFLOW_MESSAGE
from pybroker.protocol.records.message_set import read_messages
from pybroker.storage.files.files import FileRegion
from support.in_process.fetching_consumer import LATEST_VERSION, Consumer, values_by_partition
from support.in_process.replicas import TOPIC, TP, Replicas, offsets_and_values, values_in


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_fetch_returns_records_in_the_format_of_its_version(consumer: Consumer, version: int) -> None:
    consumer.produce(b"a", b"b")
    consumer.produce(b"c")
    data = consumer.partition(0, version=version)
    assert data.error_code == ErrorCode.NONE
    assert data.high_watermark == 3
    raw = bytes(data.records or b"")  # type: ignore[arg-type]
    magic = 0 if version <= 1 else 1 if version <= 3 else 2
    assert {batch.magic for batch in iter_batches(raw)} == {magic}
    if magic < 2:
        messages = [message for batch in iter_batches(raw) for message in read_messages(batch)]
        assert [(message.offset, message.value) for message in messages] == [(0, b"a"), (1, b"b"), (2, b"c")]
    else:
        assert offsets_and_values(raw) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert data.log_start_offset == (0 if version >= 5 else -1)
    assert data.last_stable_offset == (3 if version >= 4 else -1)


async def test_fetch_response_refers_to_a_region_of_the_log_file(consumer: Consumer) -> None:
    size = consumer.produce(b"a")
    answer = consumer.send(0)
    assert isinstance(answer, FetchResponse)
    records = answer.responses[0].partitions[0].records
    assert isinstance(records, FileRegion)
    assert records.size_bytes == size


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_fetch_from_v3_on_returns_a_first_batch_over_the_limit(consumer: Consumer, version: int) -> None:
    consumer.produce(b"x" * 1000)
    raw = bytes(consumer.partition(0, version=version, partition_max_bytes=100).records or b"")  # type: ignore[arg-type]
    if version <= 2:
        assert raw == OVERFLOW_MESSAGE  # the client sees a message cut short, and raises its limit
    else:
        assert len(list(iter_batches(raw))) == 1


async def test_max_bytes_is_shared_in_the_order_of_the_request(consumer: Consumer) -> None:
    for number in (1, 2):
        await consumer.replicas.order(TopicPartition(TOPIC, number))
    size = consumer.produce(b"a" * 100)
    for number in (1, 2):
        consumer.produce(b"a" * 100, topic_partition=TopicPartition(TOPIC, number))
    limits = {size * 3: [100, 100, 100], size * 2: [100, 100, 0], 1: [100, 0, 0]}
    for max_bytes, expected in limits.items():
        response = consumer.answer(0, 0, 0, max_bytes=max_bytes, partitions=[2, 0, 1])
        assert [data.partition_index for data in response.responses[0].partitions] == [2, 0, 1]
        assert [sum(map(len, values)) for values in values_by_partition(response)] == expected  # type: ignore[arg-type]


async def test_partition_max_bytes_applies_except_to_the_first_partition_with_data(consumer: Consumer) -> None:
    second = TopicPartition(TOPIC, 1)
    await consumer.replicas.order(second)
    for topic_partition in (TP, second):
        consumer.produce(b"big" * 100, topic_partition=topic_partition)
    response = consumer.answer(0, 0, partition_max_bytes=10)
    assert [len(values) for values in values_by_partition(response)] == [1, 0]
    assert not response.responses[0].partitions[1].records  # nothing, rather than part of a batch
    # The first partition has nothing: then the second one may go over its limit.
    response = consumer.answer(1, 0, partition_max_bytes=10)
    assert [len(values) for values in values_by_partition(response)] == [0, 1]


async def test_the_brokers_fetch_max_bytes_bounds_the_request(tmp_path: Path) -> None:
    replicas = Replicas(tmp_path)
    await replicas.order()
    consumer = Consumer(replicas, max_bytes=1)
    for value in (b"a", b"b"):
        consumer.produce(value)
    data = consumer.partition(0)
    assert len(values_in(data.records)) == 1
    replicas.close()
