"""Writes one record to a topic, with acks=all."""

from __future__ import annotations

import base64
import binascii
import random
import time
from typing import Any, NamedTuple

from ...base.topic_partition import TopicPartition
from ...client.asynchronous.cluster import AsyncCluster
from ...protocol.errors import error_for
from ...protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from ...protocol.records.record import Headers, Record, build_batch
from ..http.replies import HttpProblem

MAX_HEADERS = 100
_MAX_TIME_MS = 1 << 53


class Produced(NamedTuple):
    """Where a record was written. `timestamp_ms` is the broker's if the topic has its time."""

    partition: int
    offset: int
    timestamp_ms: int


def record_in(body: dict[str, Any]) -> Record:
    """The record that a request's body describes. Raises HttpProblem."""
    headers = body.get("headers") or []
    if not isinstance(headers, list) or len(headers) > MAX_HEADERS:
        raise HttpProblem(400, f"'headers' must be a list of at most {MAX_HEADERS}")
    time_ms = body.get("timestamp_ms")
    if time_ms is None:
        time_ms = time.time_ns() // 1_000_000
    if not isinstance(time_ms, int) or isinstance(time_ms, bool) or not 0 <= time_ms < _MAX_TIME_MS:
        raise HttpProblem(400, "'timestamp_ms' must be milliseconds since 1970")
    named: Headers = tuple(_header(each) for each in headers)
    return Record(0, time_ms, _bytes(body.get("key"), "key"), _bytes(body.get("value"), "value"), named)


async def chosen_partition(cluster: AsyncCluster, topic: str, wanted: int | None) -> int:
    """The partition of a request, or one of those that have a leader. Raises HttpProblem, KafkaError."""
    there = (await cluster.topic(topic)).partitions
    if wanted is None:
        led = [each.partition_index for each in there if each.leader_id >= 0]
        if not led:
            raise HttpProblem(502, f"no partition of {topic} has a leader", "LEADER_NOT_AVAILABLE")
        return random.choice(led)
    if wanted not in {each.partition_index for each in there}:
        raise HttpProblem(404, f"there is no partition {wanted}", "UNKNOWN_TOPIC_OR_PARTITION")
    return wanted


async def produce(cluster: AsyncCluster, at: TopicPartition, record: Record) -> Produced:
    """Raises KafkaError."""
    leader = await cluster.leader(at)
    data = PartitionProduceData(index=at.partition, records=memoryview(build_batch([record])))
    request = ProduceRequest(
        acks=-1,
        timeout_ms=cluster.settings.request_timeout_ms,
        topic_data=[TopicProduceData(name=at.topic, partition_data=[data])],
    )
    answer = (await cluster.ask_broker(leader, request)).responses[0].partition_responses[0]
    if answer.error_code:
        said = answer.error_message or str(error_for(answer.error_code))
        raise error_for(answer.error_code, f"{at}: the record was refused: {said}")
    time_ms = answer.log_append_time_ms if answer.log_append_time_ms >= 0 else record.timestamp_ms
    return Produced(at.partition, answer.base_offset, time_ms)


def _header(given: Any) -> tuple[str, bytes | None]:
    if not isinstance(given, dict) or not isinstance(given.get("name"), str):
        raise HttpProblem(400, "a header is an object with a name and a value")
    name = given["name"]
    try:
        name.encode()
    except UnicodeEncodeError:
        raise HttpProblem(400, "the name of a header is not valid Unicode") from None
    return name, _bytes(given.get("value"), "header")


def _bytes(given: Any, what: str) -> bytes | None:
    if given is None:
        return None
    problem = HttpProblem(400, f'the {what} must be null, {{"text": …}} or {{"base64": …}}')
    if not isinstance(given, dict):
        raise problem
    try:
        if isinstance(given.get("text"), str):
            return str(given["text"]).encode()
        if isinstance(given.get("base64"), str):
            return base64.b64decode(given["base64"], validate=True)
    except (UnicodeEncodeError, binascii.Error, ValueError):
        raise problem from None
    raise problem
