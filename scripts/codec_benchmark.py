"""Measures microseconds per message of the codec on fixed inputs: one topic and one partition, like a busy client.

Run it with the interpreter that has pybroker installed: `python scripts/codec_benchmark.py`.
"""

import timeit
from collections.abc import Callable
from uuid import UUID

from pybroker.protocol.codec import NULL_UUID, decode, decode_prefix, encode, encode_parts
from pybroker.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from pybroker.protocol.messages.headers import RequestHeader, ResponseHeader
from pybroker.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)

ROUNDS, LOOPS = 5, 20_000
TOPIC, TOPIC_ID, RECORDS = "payments", UUID(int=0x1234_5678 << 64), bytes(170)


def measure(name: str, call: Callable[[], object]) -> None:
    best = min(timeit.repeat(call, number=LOOPS, repeat=ROUNDS)) / LOOPS
    print(f"{name:<34} {best * 1e6:6.2f} µs")


def measure_headers() -> None:
    header = RequestHeader(request_api_key=0, request_api_version=9, correlation_id=7, client_id="producer-1")
    frame = memoryview(encode(header, 2) + RECORDS)
    measure("decode RequestHeader v2", lambda: decode_prefix(RequestHeader, frame, 2))
    measure("encode ResponseHeader v1", lambda: encode(ResponseHeader(correlation_id=7), 1))


def measure_produce(version: int) -> None:
    partitions = [PartitionProduceData(index=1, records=RECORDS)]
    request = ProduceRequest(acks=-1, topic_data=[TopicProduceData(name=TOPIC, partition_data=partitions)])
    frame = memoryview(bytearray(encode(request, version)))
    measure(f"decode ProduceRequest v{version}", lambda: decode(ProduceRequest, frame, version))
    answers = [PartitionProduceResponse(index=1, base_offset=1234)]
    response = ProduceResponse(responses=[TopicProduceResponse(name=TOPIC, partition_responses=answers)])
    measure(f"encode ProduceResponse v{version}", lambda: encode_parts(response, version))


def measure_fetch(version: int) -> None:
    name, topic_id = (TOPIC, NULL_UUID) if version < 13 else ("", TOPIC_ID)
    partition = FetchPartition(partition=1, fetch_offset=1234)
    request = FetchRequest(topics=[FetchTopic(topic=name, topic_id=topic_id, partitions=[partition])])
    frame = memoryview(bytearray(encode(request, version)))
    measure(f"decode FetchRequest v{version}", lambda: decode(FetchRequest, frame, version))
    data = [PartitionData(partition_index=1, high_watermark=5, records=RECORDS)]
    response = FetchResponse(responses=[FetchableTopicResponse(topic=name, topic_id=topic_id, partitions=data)])
    measure(f"encode FetchResponse v{version}", lambda: encode_parts(response, version))


if __name__ == "__main__":
    measure_headers()
    for produce_version in (7, 9, 11):
        measure_produce(produce_version)
    for fetch_version in (11, 12, 17):
        measure_fetch(fetch_version)
