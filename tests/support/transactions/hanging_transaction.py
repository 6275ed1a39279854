"""Begins a transaction that no coordinator knows; the broker must not verify transactions."""

import time

from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from support.clients.wire_client import WireClient

__all__ = ["HANGING_ID", "UNVERIFIED", "begin_hanging_transaction"]

UNVERIFIED = {"transaction.partition.verification.enable": "false"}
HANGING_ID = 4711
"""The producer id."""
_BEFORE_KIP_890 = 11
"""The last version of Produce for which leaders do not ask the coordinator."""


def begin_hanging_transaction(servers: str, topic: str, partition: int, timestamp_ms: int | None = None) -> None:
    """Append a transactional batch for a producer that no coordinator knows."""
    record = Record(0, int(time.time() * 1000) if timestamp_ms is None else timestamp_ms, None, b"value", ())
    batch = build_batch([record], producer_id=HANGING_ID, producer_epoch=3, base_sequence=0, is_transactional=True)
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=batch)])
    request = ProduceRequest(transactional_id="gone", acks=-1, timeout_ms=10_000, topic_data=[data])
    with WireClient(servers) as client:
        (answer,) = client.ask(request, _BEFORE_KIP_890).responses[0].partition_responses
        assert not answer.error_code
