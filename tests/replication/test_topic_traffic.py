"""Counters of the traffic of topics: what each kind of append and read counts, as in Kafka's BrokerTopicMetrics."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from pybroker.replication.partition.topic_traffic import BrokerTraffic
from support.in_process.replicas import NOW_MS, TOPIC, TP, Replicas, batch_of, consumer, fetch_from, follower

ELSEWHERE = TopicPartition("payments", 0)


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path, topics={TOPIC: {"max.message.bytes": "500"}, "keys": {"cleanup.policy": "compact"}})
    await replicas.order()
    yield replicas
    replicas.close()


def total(traffic: BrokerTraffic, counter: str) -> int:
    return sum(getattr(each, counter) for each in traffic.parts())


def batch_of_values(*values: bytes) -> bytes:
    return bytes(build_batch([Record(at, NOW_MS, None, value) for at, value in enumerate(values)], base_offset=0))


async def test_accepted_append_counts_its_records_and_its_bytes_as_they_came(replicas: Replicas) -> None:
    batches = [batch_of_values(b"a", b"b", b"c"), batch_of_values(b"d")]
    for batch in batches:
        replicas.append(batch)
    traffic = replicas.partitions.traffic.topics[TOPIC]
    assert traffic.messages_in == 4
    assert traffic.bytes_in == sum(map(len, batches))
    assert (traffic.total_produce_requests, traffic.failed_produce_requests) == (2, 0)
    assert total(replicas.partitions.traffic, "messages_in") == 4


async def test_too_large_append_counts_its_bytes_as_rejected_and_is_no_failure(replicas: Replicas) -> None:
    batch = batch_of_values(bytes(600))
    (result,) = replicas.append(batch)
    assert result.error is ErrorCode.MESSAGE_TOO_LARGE
    traffic = replicas.partitions.traffic.topics[TOPIC]
    assert (traffic.bytes_rejected, traffic.bytes_in, traffic.messages_in) == (len(batch), 0, 0)
    assert (traffic.total_produce_requests, traffic.failed_produce_requests) == (1, 0)


async def test_refused_batches_count_by_their_fault(replicas: Replicas) -> None:
    torn = bytearray(batch_of_values(b"a"))
    torn[-1] ^= 1
    replicas.append(bytes(torn))
    traffic = replicas.partitions.traffic
    assert traffic.invalid_checksums == 1
    assert traffic.topics[TOPIC].failed_produce_requests == 0, "a corrupt batch is no failure of the broker in Kafka"

    misplaced = bytearray(batch_of_values(b"a"))
    misplaced[7] = 5  # the base offset, which the checksum does not cover
    replicas.append(bytes(misplaced))
    assert traffic.invalid_sequences == 1
    assert traffic.topics[TOPIC].failed_produce_requests == 1

    keys = TopicPartition("keys", 0)
    await replicas.order(keys)
    replicas.append(batch_of_values(b"a", b"b"), keys)
    assert traffic.keyless_records == 2
    assert traffic.topics["keys"].failed_produce_requests == 1


async def test_append_to_a_partition_of_another_broker_counts_in_the_sum_alone(replicas: Replicas) -> None:
    traffic = replicas.partitions.traffic
    replicas.append(batch_of(), ELSEWHERE)
    assert total(traffic, "total_produce_requests") == 0, "Kafka answers for unknown partitions before it counts"
    replicas.known.add(ELSEWHERE)
    replicas.append(batch_of(), ELSEWHERE)
    assert total(traffic, "total_produce_requests") == 1
    assert set(traffic.topics) == {TOPIC}


async def test_each_partition_of_a_fetch_counts_once_for_consumers_and_followers(replicas: Replicas) -> None:
    await replicas.order(leader_epoch=1, isr=(1, 2), replicas=(1, 2))
    traffic = replicas.partitions.traffic.topics[TOPIC]
    reads = replicas.partitions.reads
    reads.fetch(consumer(max_wait_ms=0), [fetch_from(0), fetch_from(0)], lambda _: None)
    assert traffic.total_fetch_requests == 2
    reads.fetch(follower(2), [fetch_from(0)], lambda _: None)
    assert traffic.total_fetch_requests == 3
    reads.fetch(consumer(max_wait_ms=0), [fetch_from(77)], lambda _: None)
    assert (traffic.total_fetch_requests, traffic.failed_fetch_requests) == (4, 0)


async def test_counters_of_a_topic_that_leaves_stay_in_the_sum(replicas: Replicas) -> None:
    replicas.append(batch_of_values(b"a"))
    replicas.partitions.forget(TP)
    traffic = replicas.partitions.traffic
    assert TOPIC not in traffic.topics
    assert total(traffic, "messages_in") == 1
    await replicas.order(leader_epoch=2, is_new=False)
    assert traffic.topics[TOPIC].messages_in == 0
    assert total(traffic, "messages_in") == 1


def test_topic_keeps_its_counters_until_its_last_partition_leaves() -> None:
    traffic = BrokerTraffic()
    first, second = traffic.partition_came("t"), traffic.partition_came("t")
    assert first is second
    first.bytes_out += 5
    traffic.partition_left("t")
    assert traffic.topics == {"t": first}
    traffic.partition_left("t")
    traffic.partition_left("t")
    assert traffic.topics == {}
    assert total(traffic, "bytes_out") == 5


def test_replicated_and_sent_bytes_count_apart_for_followers_and_consumers() -> None:
    traffic = BrokerTraffic()
    topic = traffic.partition_came("t")
    traffic.sent(topic, 10, to_follower=False, is_reassignment=False)
    traffic.sent(topic, 20, to_follower=True, is_reassignment=False)
    traffic.sent(topic, 40, to_follower=True, is_reassignment=True)
    traffic.replicated(1, is_reassignment=False)
    traffic.replicated(2, is_reassignment=True)
    assert topic.bytes_out == 10
    assert (traffic.replication_bytes_out, traffic.reassignment_bytes_out) == (60, 40)
    assert (traffic.replication_bytes_in, traffic.reassignment_bytes_in) == (3, 2)
