"""Runs ``pybroker log`` in this process, and makes data directories for it."""

import json
import uuid
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.commands.command_line import main
from pybroker.config.load import load_config
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.segment.segment_reader import SegmentReader
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of
from support.logs.storage_pools import InlinePool

REFERENCE = Path(__file__).parents[2] / "reference" / "logdirs"
TRANSACTIONS = REFERENCE.parent / "transactions"
"""The log directory of a Kafka with transactional ids in every state."""


class Ran(NamedTuple):
    """A run of the tool."""

    exit_code: int
    lines: list[str]
    errors: list[str]

    def objects(self, kind: str) -> list[dict[str, Any]]:
        """The JSON lines of this kind."""
        return [found for line in self.lines if (found := json.loads(line))["kind"] == kind]


class LogTool:
    """Runs ``pybroker log`` and catches what it prints."""

    def __init__(self, captured: pytest.CaptureFixture[bytes]) -> None:
        self._captured = captured

    def __call__(self, *arguments: str | Path) -> Ran:
        self._captured.readouterr()
        exit_code = main(["log", *map(str, arguments)])
        output = self._captured.readouterr()
        # Records may hold any character that Python takes for the end of a line.
        return Ran(exit_code, output.out.decode().split("\n")[:-1], output.err.decode().splitlines())


def marker(producer_id: int, *, commit: bool) -> bytearray:
    return bytearray(
        build_marker_batch(
            EndTransactionMarker(commit, 0), producer_id=producer_id, producer_epoch=0, timestamp_ms=NOW_MS
        )
    )


def fill_log(log: Log, appends: int = 240) -> None:
    """Fill several segments: every codec, producers with sequences, committed and aborted transactions, one open."""
    sequences = dict.fromkeys((7, 8), 0)
    for number in range(appends):
        codec = Codec(number % 5)
        now_ms = NOW_MS + number * 10
        values = [f"value {number}.{index}" * (number % 13) for index in range(1 + number % 7)]
        key = f"key {number % 10}".encode()
        append_as_leader(log, batch_of(*values, key=key, timestamp_ms=now_ms, codec=codec), number // 100, now_ms)
        producer = 7 if number % 2 else 8
        data = batch_of(
            "transactional",
            key=f"txn {producer}".encode(),
            timestamp_ms=now_ms,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequences[producer],
            is_transactional=True,
        )
        sequences[producer] += 1
        append_as_leader(log, data, number // 100, now_ms)
        if number % 10 > 7:
            append_as_leader(
                log, marker(producer, commit=number % 3 == 0), number // 100, now_ms, AppendOrigin.COORDINATOR
            )


def positions_in(path: Path) -> list[tuple[int, RecordBatch]]:
    """The position of each batch of a `.log`, and the batch."""
    with SegmentReader(Files(), str(path)) as reader:
        return [(position, batch) for position, batch in reader.batches()]


def patch(path: Path, position: int, data: bytes) -> None:
    """Overwrite some bytes of a file."""
    with path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def write_broker_directory(path: Path) -> None:
    """A log directory as a broker leaves it after a clean stop: `topic-0` of `fill_log`, and two partitions of `plain`.

    The front of `topic` was deleted within a segment, and some of its end was once written and truncated again.
    """
    config = load_config(f"log.dirs={path}\n", {"log.segment.bytes": "15000", "log.index.interval.bytes": "500"})
    store = LogStore.open(config, Files(), InlinePool(), lambda: NOW_MS, broker_id=1, cluster_id="cluster")
    watermarks = {}
    for topic, partition in (("topic", 0), ("plain", 0), ("plain", 1)):
        topic_partition = TopicPartition(topic, partition)
        topic_id = uuid.uuid5(uuid.NAMESPACE_DNS, topic)
        log = store.get_or_create(topic_partition, is_new=True, topic_id=topic_id)
        if topic == "topic":
            fill_log(log)
            for _ in range(30):
                append_as_leader(log, batch_of("taken back" * 100), 3, NOW_MS + 2500)
            truncate_to(log, log.log_end_offset - 25, NOW_MS + 2500)
            log.increment_log_start_offset(5)
        else:
            append_as_leader(log, batch_of(*"abc"), 0, NOW_MS)
        watermarks[topic_partition] = log.log_end_offset
    store.checkpoints.write_high_watermarks(watermarks)
    store.close()


def logs(data: Path) -> list[Path]:
    """The segments of the partition topic-0 in a directory of `write_broker_directory`."""
    return sorted((data / "topic-0").glob("*.log"))
