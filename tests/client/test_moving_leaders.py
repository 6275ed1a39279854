"""Reading and writing while the leaders of partitions move between three brokers."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.admin_cluster import AdminCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.fetching import partition_reader
from pybroker.client.fetching.partition_reader import PartitionReader
from pybroker.client.given_options import GivenOptions
from pybroker.client.producing.batch_producer import BatchProducer
from pybroker.client.producing.identity import ProducerIdentity
from pybroker.protocol.records.record import read_records
from support.in_process.broker_cluster import BrokerCluster, until

PARTITIONS = [TopicPartition("t", number) for number in range(6)]
VALUES = 40
NOW_MS = 4_000_000_000_000
Move = Callable[[int], None]
"""Restarts a broker, and returns when all replicas are in sync again."""


def written(cluster: AdminCluster, move: Move) -> dict[TopicPartition, int]:
    """Writes 0 … 39 to each partition, and moves leaders meanwhile. Returns how many were acknowledged."""
    acknowledged: dict[TopicPartition, int] = defaultdict(int)

    def count(at: TopicPartition, _: int, records: int) -> None:
        acknowledged[at] += records

    producer = BatchProducer(cluster, count, identity=ProducerIdentity(cluster, None))
    for number in range(VALUES):
        if number % 10 == 5:
            move(1 + number // 10 % 3)
        for at in PARTITIONS:
            producer.send_values(at, [b"%d" % number], NOW_MS)
    producer.flush()
    return dict(acknowledged)


def read(cluster: AdminCluster, move: Move) -> dict[TopicPartition, list[bytes]]:
    """Reads all partitions to their ends, a few records at a time, and moves leaders meanwhile."""
    values: dict[TopicPartition, list[bytes]] = defaultdict(list)
    ends = cluster.offsets(dict.fromkeys(PARTITIONS, -1))
    reader = PartitionReader(cluster, dict.fromkeys(PARTITIONS, 0), ends, print)
    for number, found in enumerate(reader.batches()):
        for batch in found.batches:
            values[found.at] += [
                record.value or b"" for record in read_records(batch) if found.start <= record.offset < found.end
            ]
        if number % 15 == 5:
            move(1 + number // 15 % 3)
    return dict(values)


async def test_no_record_is_lost_or_doubled_when_leaders_move(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_reader, "PARTITION_BYTES", 400)
    monkeypatch.setattr(partition_reader, "FETCH_BYTES", 1_000)
    brokers = BrokerCluster(tmp_path)
    await brokers.start(1, 2, 3)
    await brokers.create_topic("t", *([1 + number % 3, 1 + (number + 1) % 3] for number in range(len(PARTITIONS))))
    loop = asyncio.get_running_loop()

    async def restart(broker_id: int) -> None:
        await brokers.stop(broker_id)
        await brokers.start(broker_id)
        await until(lambda: all(len(brokers.isr_of(at)) == 2 for at in PARTITIONS), "all replicas are in sync")

    def move(broker_id: int) -> None:
        asyncio.run_coroutine_threadsafe(restart(broker_id), loop).result()

    servers = ",".join(f"127.0.0.1:{brokers._ports[each]}" for each in (1, 2, 3))
    settings = take_client_settings(GivenOptions({"bootstrap.servers": servers}), "test")
    with AdminCluster(settings) as cluster:
        assert await asyncio.to_thread(written, cluster, move) == dict.fromkeys(PARTITIONS, VALUES)
        expected = [b"%d" % number for number in range(VALUES)]
        assert await asyncio.to_thread(read, cluster, move) == dict.fromkeys(PARTITIONS, expected)
    await brokers.close()
