"""Produces the load of the load tests in its own process: ``wire_load.py SERVERS CONNECTIONS SECONDS`` prints JSON.

200 of the connections work: 100 produce, five to each of 20 partitions; 100 consume, five from each. The others have
sent a client's first requests, and stay idle. Producers follow a schedule, so a slow response delays no other message,
and a message's latency counts from when it was due. Each message names its producer and its number: a consumer that has
read a partition to its end can name missing and duplicate messages.
"""

import asyncio
import json
import resource
import struct
import sys
import time
from dataclasses import dataclass, field
from itertools import count

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import Record, build_batch, read_records
from support.clients.async_wire_client import AsyncWireClient

TOPIC = "load"
PARTITIONS = 20
CLIENTS_OF_A_PARTITION = 5
REQUESTS_A_SECOND = 4
MESSAGES_A_REQUEST = 5
WORKING = 2 * PARTITIONS * CLIENTS_OF_A_PARTITION

MESSAGE = struct.Struct(">HIQ80x")
"""The producer, the number of its message, and when it was due (ns of the monotonic clock)."""


@dataclass
class Outcome:
    sent: int = 0
    received: int = 0
    lost: int = 0
    twice: int = 0
    out_of_order: int = 0
    idle_alive: int = 0
    errors: list[str] = field(default_factory=list)
    latencies_ns: list[int] = field(default_factory=list)

    def as_json(self) -> str:
        ranked = sorted(self.latencies_ns)
        figures = {f"p{share}_ms": ranked[int(len(ranked) * share / 100)] / 1e6 for share in (50, 99) if ranked}
        return json.dumps({**vars(self), "latencies_ns": None, **figures})


@dataclass
class Partition:
    """``producing`` is how many of its producers have not had everything acknowledged yet."""

    index: int
    producers: list[int]
    producing: int


async def produce(
    client: AsyncWireClient, partition: Partition, producer: int, seconds: int, start_ns: int, outcome: Outcome
) -> None:
    for request in range(seconds * REQUESTS_A_SECOND):
        # Producers take turns within the interval.
        due_ns = start_ns + int((request + producer / WORKING * 2) / REQUESTS_A_SECOND * 1e9)
        await asyncio.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
        first = request * MESSAGES_A_REQUEST
        now_ms = int(time.time() * 1000)  # retention, which runs after half a minute, uses it
        batch = build_batch(
            Record(offset=index, timestamp_ms=now_ms, key=None, value=MESSAGE.pack(producer, first + index, due_ns))
            for index in range(MESSAGES_A_REQUEST)
        )
        data = PartitionProduceData(index=partition.index, records=batch)
        topics = [TopicProduceData(name=TOPIC, partition_data=[data])]
        answer = await client.ask(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics), 9)
        code = answer.responses[0].partition_responses[0].error_code
        if code:
            outcome.errors.append(f"produce to {partition.index}: {ErrorCode(code).name}")
        else:
            outcome.sent += MESSAGES_A_REQUEST
    partition.producing -= 1


async def fetch(client: AsyncWireClient, partition: int, offset: int) -> PartitionData:
    wanted = FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic=TOPIC, partitions=[wanted])]
    answer = await client.ask(FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1 << 20, topics=topics), 11)
    found: PartitionData = answer.responses[0].partitions[0]
    return found


async def consume(client: AsyncWireClient, partition: Partition, seconds: int, outcome: Outcome) -> None:
    """Read until the producers are done and the end is reached."""
    seen: dict[int, set[int]] = {producer: set() for producer in partition.producers}
    offset = 0
    while True:
        is_last = partition.producing == 0
        found = await fetch(client, partition.index, offset)
        if found.error_code:
            outcome.errors.append(f"fetch from {partition.index}: {ErrorCode(found.error_code).name}")
            break
        received_ns = time.monotonic_ns()
        start = offset
        records = found.records
        assert records is None or isinstance(records, memoryview)
        for batch in iter_batches(records or b""):
            for record in read_records(batch):
                if record.offset >= offset:  # the first batch may begin before it
                    outcome.out_of_order += record.offset != offset
                    note(record, seen, received_ns, outcome)
                    offset = record.offset + 1
        if is_last and offset == start and offset >= found.high_watermark:
            break
    whole = seconds * REQUESTS_A_SECOND * MESSAGES_A_REQUEST
    outcome.lost += sum(whole - len(sequences) for sequences in seen.values())


def note(record: Record, seen: dict[int, set[int]], received_ns: int, outcome: Outcome) -> None:
    assert record.value is not None
    producer, sequence, due_ns = MESSAGE.unpack(record.value)
    sequences = seen[producer]
    outcome.twice += sequence in sequences
    outcome.out_of_order += sequence > len(sequences)
    sequences.add(sequence)
    outcome.received += 1
    outcome.latencies_ns.append(received_ns - due_ns)


async def work(servers: str, seconds: int, outcome: Outcome) -> None:
    """The 200 connections, all of them open before the first produces."""
    numbers = count()
    tasks = []
    partitions = []
    for index in range(PARTITIONS):
        producers = [next(numbers) for _ in range(CLIENTS_OF_A_PARTITION)]
        partitions.append(Partition(index, producers, len(producers)))
    clients = [await AsyncWireClient.connect(servers) for _ in range(WORKING)]
    free = iter(clients)
    start_ns = time.monotonic_ns() + 100_000_000
    for partition in partitions:
        tasks += [produce(next(free), partition, number, seconds, start_ns, outcome) for number in partition.producers]
        tasks += [consume(next(free), partition, seconds, outcome) for _ in partition.producers]
    await asyncio.gather(*tasks)
    for client in clients:
        client.close()


async def idle_connections(servers: str, number: int) -> list[AsyncWireClient]:
    clients = []
    for _ in range(number):
        client = await AsyncWireClient.connect(servers)
        await client.ask(ApiVersionsRequest(), 2)
        clients.append(client)
    return clients


async def run(servers: str, connections: int, seconds: int) -> Outcome:
    outcome = Outcome()
    first = await AsyncWireClient.connect(servers)
    topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
    await first.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
    first.close()
    idle = await idle_connections(servers, connections - WORKING)
    await work(servers, seconds, outcome)
    for client in idle:
        answer = await client.ask(ApiVersionsRequest(), 2)
        outcome.idle_alive += answer.error_code == 0
        client.close()
    return outcome


def main(servers: str, connections: int, seconds: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, connections + 200)), hard))
    print(asyncio.run(run(servers, connections, seconds)).as_json())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
