"""The same load for every broker: requests whose sizes, batches and offsets are the same each time."""

import time

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.records.record import Record, build_batch
from support.clients.good_client import create_topic, make_coordinator, produce_request
from support.clients.wire_client import WireClient
from support.time.patience import await_that

__all__ = ["BATCHES", "COMMITTED", "FETCHES", "GROUP", "RECORDS_OF_BATCH", "REFUSED", "TOPIC", "run_load"]

TOPIC, GROUP = "orders", "billing"
BATCHES, RECORDS_OF_BATCH = 300, 10
FETCHES, COMMITTED = 20, 1200
REFUSED = 7


def run_load(servers: str) -> None:
    """Create the topic, produce, fetch, commit offsets of a group, and be refused a few times."""
    with WireClient(servers) as client:
        make_coordinator(client)  # a Kafka that has just started knows no live broker
        create_topic(client, TOPIC, {"retention.ms": "-1", "min.insync.replicas": "1"})
        now_ms = time.time_ns() // 1_000_000
        for number in range(BATCHES):
            records = [
                Record(offset, now_ms, b"key", f"{number:08} {offset:08}".encode() * 6)
                for offset in range(RECORDS_OF_BATCH)
            ]
            answer = client.ask(produce_request(TOPIC, build_batch(records)), 9)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        for _ in range(FETCHES):
            wanted = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 24)
            topic = FetchTopic(topic=TOPIC, partitions=[wanted])
            request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=1 << 24, session_epoch=-1, topics=[topic])
            assert client.ask(request, 12).responses[0].partitions[0].records
        await_that(lambda: _commit(client) == ErrorCode.NONE, "the coordinator stores offsets")
        for _ in range(REFUSED):
            answer = client.ask(
                produce_request("no topic of this name", build_batch([Record(0, now_ms, None, b"x")])), 9
            )
            assert answer.responses[0].partition_responses[0].error_code != ErrorCode.NONE


def _commit(client: WireClient) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=COMMITTED)
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
    request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, member_id="", topics=[topic])
    answer = client.ask(request, 8)
    code: int = answer.topics[0].partitions[0].error_code
    return code
