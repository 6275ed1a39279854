"""Logs of messages in formats 0 and 1, as Kafka wrote them, can be truncated anywhere and continued."""

import shutil
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log_config import LogConfig
from support.logs.compaction import batches_of, records_of, stored_batches
from support.logs.storage_logs import CRASHED, NOW_MS, append_as_leader, batch_of, close_cleanly, open_log

DATA = Path(__file__).resolve().parents[1] / "reference" / "logdirs" / "ibp-2.8" / "data"
TOPICS = ("golden1-v0", "golden1-v1", "golden1-v1-append-time")
CONFIG = LogConfig(retention_ms=-1, segment_bytes=16 << 10, index_interval_bytes=500)


@pytest.mark.parametrize("topic", TOPICS)
def test_log_of_old_messages_can_be_truncated_at_any_offset(topic: str, tmp_path: Path) -> None:
    partition = TopicPartition(topic, 0)
    stored = stored_batches(DATA / f"{topic}-0")
    assert any(len(batch.records) > 2 for batch in stored), "some are compressed, several in one"
    for cut in range(0, stored[-1].last_offset + 1, 7):
        directory = tmp_path / str(cut)
        shutil.copytree(DATA / f"{topic}-0", directory / f"{topic}-0")
        log = open_log(directory, CONFIG, topic_partition=partition)
        truncate_to(log, cut, NOW_MS)
        # A compressed message goes as a whole with its last record, and is fetched again as a whole.
        kept = [record for batch in stored if batch.last_offset < cut for record in batch.records]
        end = kept[-1].offset + 1 if kept else 0
        assert (log.log_end_offset, records_of(log)) == (end, kept)
        timestamps = [record.timestamp_ms for record in kept if record.timestamp_ms >= 0]
        if timestamps:
            largest = log.offset_of_max_timestamp()
            assert largest is not None
            assert largest.timestamp == max(timestamps)
            wanted = timestamps[len(timestamps) // 2]
            found = log.offset_for_timestamp(wanted)
            assert found is not None
            assert found.offset == next(each.offset for each in kept if each.timestamp_ms >= wanted)
        append_as_leader(log, batch_of("new"), 5, NOW_MS)
        after = records_of(log)
        assert (after[:-1], after[-1].offset, after[-1].value) == (kept, end, b"new")
        start = close_cleanly(log)
        for again in (start, CRASHED):
            log = open_log(directory, CONFIG, again, topic_partition=partition)
            assert records_of(log) == after
            result = log.read(end, 1 << 20, log.log_end_offset, min_one_batch=True)
            assert result.region is not None
            assert [batch.magic for batch in batches_of(result.region.read())] == [2]
            log.close_files()
        shutil.rmtree(directory)
