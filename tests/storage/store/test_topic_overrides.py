"""Each topic setting that storage uses takes effect in an open log as soon as it changes."""

import os
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.config.setting import SupportKind
from pybroker.config.table import TOPIC_SETTINGS
from pybroker.protocol.errors import InvalidRecordError, InvalidTimestampError, KafkaError, RecordTooLargeError
from pybroker.protocol.records.batch import iter_batches
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_retention import apply_retention
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of
from support.logs.storage_pools import InlinePool

DAY_MS = 24 * 3600 * 1000
TP = TopicPartition("topic", 0)
ELSEWHERE = {
    "follower.replication.throttled.replicas": "replication",
    "leader.replication.throttled.replicas": "replication",
    "min.insync.replicas": "replication/state_changes.py",
    "message.downconversion.enable": "replication/state_changes.py",
    "unclean.leader.election.enable": "controller",
}
"""Acted on, but not by storage."""
OF_THE_CLEANER = {"delete.retention.ms", "min.cleanable.dirty.ratio", "min.compaction.lag.ms", "max.compaction.lag.ms"}
"""Read from the log's config when the cleaner looks at it: tests of the cleaner."""


class Topic:
    """An open log whose topic's settings can be changed."""

    def __init__(self, directory: Path) -> None:
        self.overrides: dict[str, str] = {}
        self.deletions: list[int] = []
        self.store = LogStore.open(
            load_config(f"log.dirs={directory}\n"),
            Files(),
            InlinePool(),
            lambda: NOW_MS,
            topic_overrides=lambda topic: self.overrides,
        )
        self.store.deletion.run_later = lambda delay_ms, step: self.deletions.append(delay_ms)
        self.log = self.store.get_or_create(TP, is_new=True)

    def set(self, name: str, value: str) -> None:
        self.overrides = {name: value}
        self.store.update_topic_config(TP.topic)

    def append(
        self, value: str = "x" * 100, timestamp_ms: int = NOW_MS, key: bytes | None = b"k", now_ms: int = NOW_MS
    ) -> None:
        append_as_leader(self.log, batch_of(value, timestamp_ms=timestamp_ms, key=key), 0, now_ms)

    def refuses(self, error: type[KafkaError], timestamp_ms: int = NOW_MS, key: bytes | None = b"k") -> bool:
        try:
            self.append(timestamp_ms=timestamp_ms, key=key)
        except error:
            return True
        return False

    def last_batch(self) -> bytes:
        log = self.log
        region = log.read(log.log_end_offset - 1, 1 << 20, log.log_end_offset, True).region
        assert region is not None
        return region.read()


def rolls(topic: Topic, *, after_ms: int = 0) -> bool:
    """Return whether an append after that delay begins a segment."""
    topic.append()
    before = len(topic.log.segments)
    topic.append(timestamp_ms=NOW_MS + after_ms, now_ms=NOW_MS + after_ms)
    return len(topic.log.segments) > before


def deletes(topic: Topic, timestamp_ms: int = NOW_MS) -> bool:
    topic.append(timestamp_ms=timestamp_ms)
    topic.log.roll(NOW_MS)
    topic.append()
    return bool(apply_retention(topic.log, NOW_MS, topic.log.log_end_offset))


def index_entries(topic: Topic) -> int:
    for _ in range(5):
        topic.append()
    return len(topic.log.segments[-1].offset_index)


def stored_size(topic: Topic) -> int:
    topic.append("".join(str(zlib.crc32(str(number).encode()) % 97) for number in range(30_000)))
    return len(topic.last_batch())


def codec_of_next(topic: Topic) -> int:
    topic.append()
    return next(iter_batches(topic.last_batch())).attributes & 7


def full_index_rolls(topic: Topic) -> bool:
    topic.log.roll(NOW_MS)  # a segment keeps the size it began with
    topic.set("index.interval.bytes", "0")
    before = len(topic.log.segments)
    for _ in range(8):
        topic.append()
    return len(topic.log.segments) > before


def is_stamped(topic: Topic) -> bool:
    topic.append(timestamp_ms=NOW_MS - 5)
    return next(iter_batches(topic.last_batch())).max_timestamp == NOW_MS


def size_of_next(topic: Topic) -> bool:
    topic.append()
    topic.log.roll(NOW_MS)
    return os.path.getsize(topic.log.segments[-1].log_ref.path) == topic.log.config.segment_bytes


def delay_of_deletion(topic: Topic) -> int:
    topic.append()
    topic.log.roll(NOW_MS)
    topic.log.increment_log_start_offset(topic.log.log_end_offset)
    apply_retention(topic.log, NOW_MS, topic.log.log_end_offset)
    return topic.deletions[-1]


def flushed(topic: Topic) -> int:
    topic.append()
    return topic.log.recovery_point


def is_due_for_a_flush(topic: Topic) -> bool:
    topic.append()
    log = topic.log
    due: list[Log] = []
    topic.store.upkeep.in_background = lambda step: due.append(log)
    log.last_flush_ms = NOW_MS - 2000
    topic.store.upkeep.flush_due_logs()
    return bool(due)


CASES: list[tuple[str, str, Callable[[Topic], object], object, object]] = [
    # setting, new value, what is observed, its value before, its value afterwards
    ("segment.bytes", "200", rolls, False, True),
    ("segment.ms", "1000", lambda topic: rolls(topic, after_ms=2000), False, True),
    ("segment.index.bytes", "24", full_index_rolls, False, True),
    ("index.interval.bytes", "0", index_entries, 0, 5),
    ("retention.bytes", "100", deletes, False, True),
    ("retention.ms", "1000", lambda topic: deletes(topic, NOW_MS - 2000), False, True),
    ("cleanup.policy", "compact", lambda topic: topic.refuses(InvalidRecordError, key=None), False, True),
    ("max.message.bytes", "100", lambda topic: topic.refuses(RecordTooLargeError), False, True),
    ("message.timestamp.type", "LogAppendTime", is_stamped, False, True),
    *(
        (name, "1000", lambda topic, at=at: topic.refuses(InvalidTimestampError, at), False, True)
        for name, at in [
            ("message.timestamp.before.max.ms", NOW_MS - 2000),
            ("message.timestamp.after.max.ms", NOW_MS + 2000),
            ("message.timestamp.difference.max.ms", NOW_MS + 2000),
        ]
    ),
    ("compression.type", "zstd", codec_of_next, 0, 4),
    ("preallocate", "true", size_of_next, False, True),
    ("file.delete.delay.ms", "7", delay_of_deletion, 60_000, 7),
    ("flush.messages", "1", flushed, 0, 2),
    ("flush.ms", "1000", is_due_for_a_flush, False, True),
]
LEVELS = [("gzip", "1", "9"), ("lz4", "1", "12"), ("zstd", "-5", "19")]
BY_HAND = {"segment.jitter.ms", *(f"compression.{codec}.level" for codec, _, _ in LEVELS)}


def test_every_topic_setting_that_storage_uses_is_tested_here() -> None:
    acted_on = {name for name, setting in TOPIC_SETTINGS.items() if setting.support.kind is SupportKind.ACTED_ON}
    tested = {case[0] for case in CASES} | BY_HAND | OF_THE_CLEANER | set(ELSEWHERE)
    assert acted_on - tested == set()
    assert tested - acted_on == set()


@pytest.mark.parametrize(("name", "value", "look", "before", "after"), CASES, ids=[case[0] for case in CASES])
def test_changed_topic_setting_takes_effect_in_an_open_log(
    name: str, value: str, look: Callable[[Topic], object], before: object, after: object, tmp_path: Path
) -> None:
    topic = Topic(tmp_path)
    assert look(topic) == before
    topic.set(name, value)
    assert look(topic) == after
    topic.store.release()


@pytest.mark.parametrize(("codec", "quick", "thorough"), LEVELS)
def test_changed_compression_level_takes_effect_in_an_open_log(
    codec: str, quick: str, thorough: str, tmp_path: Path
) -> None:
    topic = Topic(tmp_path)
    sizes = []
    for level in (quick, thorough):
        topic.overrides = {"compression.type": codec, f"compression.{codec}.level": level}
        topic.store.update_topic_config(TP.topic)
        sizes.append(stored_size(topic))
    assert sizes[1] < sizes[0]
    topic.store.release()


def test_changed_segment_jitter_takes_effect_with_the_next_segment(tmp_path: Path) -> None:
    topic = Topic(tmp_path)
    topic.set("segment.jitter.ms", str(DAY_MS))
    topic.append()
    jitter = topic.log.roll(NOW_MS).roll_jitter_ms
    topic.set("segment.jitter.ms", "0")
    topic.append()
    assert (0 < jitter < DAY_MS, topic.log.roll(NOW_MS).roll_jitter_ms) == (True, 0)
    topic.store.release()
