"""Tests with aiokafka, the asyncio client."""

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from support.clients.topics import create_topic

CODECS = (None, "gzip", "snappy", "lz4", "zstd")


async def produce(servers: str, topic: str, values: list[bytes], **options: object) -> list[int]:
    producer = AIOKafkaProducer(bootstrap_servers=servers, **options)
    await producer.start()
    try:
        sent = [await producer.send(topic, value, partition=0) for value in values]
        return [metadata.offset for metadata in await asyncio.gather(*sent)]
    finally:
        await producer.stop()


@pytest.mark.parametrize("codec", CODECS)
async def test_aiokafka_reads_records_of_its_idempotent_producer(servers: str, topic: str, codec: str | None) -> None:
    values = [f"{n} ".encode() * 30 for n in range(500)]
    offsets = await produce(servers, topic, values, compression_type=codec, enable_idempotence=True, linger_ms=10)
    assert offsets == list(range(500))
    consumer = AIOKafkaConsumer(topic, bootstrap_servers=servers, auto_offset_reset="earliest")
    await consumer.start()
    records = [await consumer.getone() for _ in range(500)]
    await consumer.stop()
    assert [record.value for record in records] == values


async def test_aiokafka_group_shares_partitions_and_resumes(servers: str, topic: str, group: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=servers)
    await admin.start()
    await admin.create_topics([NewTopic(topic, num_partitions=2, replication_factor=1)])
    await admin.close()
    options = {"bootstrap_servers": servers, "group_id": group, "auto_offset_reset": "earliest"}
    first, second = AIOKafkaConsumer(topic, **options), AIOKafkaConsumer(topic, **options)
    await asyncio.gather(first.start(), second.start())
    while len(first.assignment()) != 1 or len(second.assignment()) != 1:
        await asyncio.gather(first.getmany(timeout_ms=50), second.getmany(timeout_ms=50))
    assert first.assignment() | second.assignment() == {TopicPartition(topic, 0), TopicPartition(topic, 1)}
    await second.stop()
    await produce(servers, topic, [b"a", b"b", b"c"])
    assert [(await first.getone()).value for _ in range(3)] == [b"a", b"b", b"c"]
    await first.commit()
    await first.stop()
    await produce(servers, topic, [b"d"])
    third = AIOKafkaConsumer(topic, **options)
    await third.start()
    assert (await third.getone()).value == b"d"
    await third.stop()


async def test_aiokafka_finds_offsets_by_time_and_at_both_ends(servers: str, topic: str) -> None:
    create_topic(servers, topic, 1, {"retention.ms": "-1"})  # the timestamps are old
    producer = AIOKafkaProducer(bootstrap_servers=servers)
    await producer.start()
    for n in range(10):
        await producer.send_and_wait(topic, b"x", partition=0, timestamp_ms=1_700_000_000_000 + n)
    await producer.stop()
    partition = TopicPartition(topic, 0)
    consumer = AIOKafkaConsumer(bootstrap_servers=servers)
    await consumer.start()
    found = await consumer.offsets_for_times({partition: 1_700_000_000_004})
    assert found[partition].offset == 4
    assert await consumer.beginning_offsets([partition]) == {partition: 0}
    assert await consumer.end_offsets([partition]) == {partition: 10}
    await consumer.stop()
