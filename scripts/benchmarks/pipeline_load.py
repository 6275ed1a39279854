"""Creates the input of `scripts/bench pipeline`: a topic of small records, and log directories of full segments."""

import random
import time
from pathlib import Path

from confluent_kafka import Producer
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.records.record import Record, build_batch
from pybroker.storage.files.files import Files
from pybroker.storage.files.meta_properties import MetaProperties, write_meta_properties
from pybroker.storage.log.log_append import LeaderAppend
from pybroker.storage.log.log_host import StandaloneHost
from pybroker.storage.log_config import LogConfig
from pybroker.storage.recovery.log_loader import load_log
from support.clients.topics import create_topic

__all__ = ["fill_topic", "write_segments"]

_KEY_BYTES, _VALUE_BYTES = 12, 88
_SEGMENT_BYTES = 256 << 20
_DISTINCT_VALUES = 1000


def fill_topic(servers: str, topic: str, partitions: int, records: int) -> None:
    """Produces records of 100 bytes, uncompressed; a tenth of their keys are distinct."""
    create_topic(servers, topic, partitions)
    chance = random.Random(1)
    values = [chance.randbytes(_VALUE_BYTES) for _ in range(_DISTINCT_VALUES)]
    now_ms = time.time_ns() // 1_000_000
    settings = {"bootstrap.servers": servers, "linger.ms": 20, "batch.num.messages": 500}
    producer = Producer({**settings, "queue.buffering.max.messages": 1_000_000})
    for number in range(records):
        key = b"key-%08d" % (number * 7919 % max(records // 10, 1))
        timestamp_ms = now_ms + number // 100
        while True:
            try:
                producer.produce(topic, values[number % _DISTINCT_VALUES], key=key, timestamp=timestamp_ms)
                break
            except BufferError:
                producer.poll(0.05)
        if number % 1000 == 0:
            producer.poll(0)
    left = producer.flush()
    if left:
        raise RuntimeError(f"{left} records were not produced")


def write_segments(directory: Path, partitions: int, size_bytes: int) -> int:
    """Writes a log directory by the broker's own storage; returns the bytes of its segments.

    Records have 100 bytes, batches 16 KiB.
    """
    chance = random.Random(2)
    now_ms = time.time_ns() // 1_000_000
    value = chance.randbytes(_VALUE_BYTES)
    made = build_batch([Record(number, now_ms, b"key-%08d" % number, value) for number in range(148)])
    written = 0
    for number in range(partitions):
        files = Files()
        at = TopicPartition("audited", number)
        path = str(directory / str(at))
        log = load_log(files, StandaloneHost(files), path, at, LogConfig(segment_bytes=_SEGMENT_BYTES), now_ms)
        for _ in range(size_bytes // partitions // len(made)):
            log.append(LeaderAppend(bytearray(made), 0, now_ms))
            written += len(made)
        log.flush(now_ms)
        log.close()
    write_meta_properties(Files(), str(directory), MetaProperties(0, "audited"))
    return written
