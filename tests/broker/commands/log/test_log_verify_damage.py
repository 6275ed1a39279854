"""``pybroker log verify`` names the file, byte and fault of damaged files."""

import re
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record
from pybroker.storage.leader_epochs import EpochEntry
from pybroker.storage.producers.producer_snapshots import decode_snapshot, encode_snapshot
from pybroker.storage.producers.producer_state import BatchMetadata, ProducerEntry
from support.logs.log_tool import REFERENCE, LogTool, logs, patch, positions_in
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, close_cleanly, open_log

Damage = Callable[[Path], Path]
"""Damages a log directory; returns the file that `verify` has to name."""
DAMAGES: list[tuple[str, Damage, str]] = []


def damage(says: str) -> Callable[[Damage], Damage]:
    """Adds a kind of damage to the list. A line must name its file and match ``says``, a regular expression."""

    def register(function: Damage) -> Damage:
        DAMAGES.append((function.__name__, function, says))
        return function

    return register


def with_right_crc(data: bytes) -> bytes:
    """The batch with a correct checksum."""
    crc = RecordBatch(data, 0).compute_crc()
    return data[:17] + struct.pack(">I", crc) + data[21:]


def batch_at(path: Path, number: int) -> tuple[int, bytearray]:
    position, batch = positions_in(path)[number]
    return position, bytearray(batch.view())


@damage(r"byte \d+: the batch of offset \d+ has the checksum \d+, its bytes have \d+")
def flipped_byte_in_records(data: Path) -> Path:
    path = logs(data)[1]
    position, batch = batch_at(path, 3)
    patch(path, position + len(batch) - 3, bytes([batch[-3] ^ 0x10]))
    return path


@damage(r"byte \d+: the batch of offset \d+ has the checksum")
def flipped_byte_in_a_header(data: Path) -> Path:
    path = logs(data)[1]
    position, batch = batch_at(path, 3)
    patch(path, position + 40, bytes([batch[40] ^ 1]))
    return path


@damage(r"byte \d+: \d+ bytes are not a batch: no batch has a length of -\d+")
def negative_length(data: Path) -> Path:
    path = logs(data)[1]
    patch(path, positions_in(path)[3][0] + 8, b"\xff")
    return path


@damage(r"byte \d+: \d+ bytes are not a batch: a batch of \d+ bytes is cut off")
def length_beyond_the_file(data: Path) -> Path:
    path = logs(data)[1]
    patch(path, positions_in(path)[3][0] + 8, b"\x7f")
    return path


@damage(r"byte \d+: \d+ bytes are not a batch: no batch has a length of \d+ in magic 3")
def unknown_magic(data: Path) -> Path:
    path = logs(data)[1]
    patch(path, positions_in(path)[3][0] + 16, b"\x03")
    return path


@damage(r"byte \d+: offset \d+ follows, where \d+ or a later offset must")
def base_offset_too_low(data: Path) -> Path:
    path = logs(data)[1]
    positions = positions_in(path)
    patch(path, positions[4][0], struct.pack(">q", positions[3][1].base_offset))
    return path


@damage(r"byte \d+: offset \d+ is beyond \d+, the last offset that the segment can have")
def base_offset_too_high(data: Path) -> Path:
    path = logs(data)[1]
    position, batch = positions_in(path)[-1]
    patch(path, position, struct.pack(">q", batch.base_offset + 1))
    return path


@damage(r"offset \d+ follows, where")
def duplicate_offsets(data: Path) -> Path:
    path = logs(data)[0]
    _, batch = batch_at(path, -1)
    path.write_bytes(path.read_bytes() + batch)
    return path


@damage(r"byte \d+: 70 bytes are not a batch: a batch of \d+ bytes is cut off after 70")
def torn_tail_of_a_closed_segment(data: Path) -> Path:
    (data / ".kafka_cleanshutdown").unlink()
    path = logs(data)[1]
    path.write_bytes(path.read_bytes() + path.read_bytes()[:70])
    return path


@damage(r"byte \d+: 70 bytes are not a batch")
def torn_tail_behind_a_clean_stop(data: Path) -> Path:
    path = logs(data)[-1]
    path.write_bytes(path.read_bytes() + path.read_bytes()[:70])
    return path


@damage(r"the records of the batch of offset \d+ cannot be read")
def fewer_records_than_counted(data: Path) -> Path:
    path = logs(data)[1]
    number = next(n for n, (_, batch) in enumerate(positions_in(path)) if batch.record_count > 2)
    position, batch = batch_at(path, number)
    batch[23:27] = struct.pack(">i", RecordBatch(batch, 0).last_offset_delta + 1)
    batch[57:61] = struct.pack(">i", RecordBatch(batch, 0).record_count + 1)
    patch(path, position, with_right_crc(bytes(batch)))
    return path


@damage(r"says it has 1000 records in \d+ offsets")
def more_records_than_offsets(data: Path) -> Path:
    path = logs(data)[1]
    position, batch = batch_at(path, 3)
    batch[57:61] = struct.pack(">i", 1000)
    patch(path, position, with_right_crc(bytes(batch)))
    return path


@damage(r"says its greatest timestamp is 77, its records have \d+")
def wrong_greatest_timestamp(data: Path) -> Path:
    path = logs(data)[1]
    position, batch = batch_at(path, 3)
    batch[35:43] = struct.pack(">q", 77)
    patch(path, position, with_right_crc(bytes(batch)))
    return path


@damage(r"an entry points offset \d+ at byte \d+, where no batch begins")
def index_position_inside_a_batch(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".index")
    _, position = struct.unpack(">ii", path.read_bytes()[8:16])
    patch(path, 12, struct.pack(">i", position + 1))
    return path


@damage(r"an entry points offset \d+ at byte \d+, where offset \d+ begins")
def index_position_too_far(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".index")
    relative, _ = struct.unpack(">ii", path.read_bytes()[8:16])
    base = int(path.stem)
    position = next(position for position, batch in positions_in(logs(data)[1]) if batch.base_offset > base + relative)
    patch(path, 12, struct.pack(">i", position))
    return path


@damage(r"an entry points offset \d+ at byte \d+, but it lies inside the batch that ends with \d+")
def index_offset_inside_a_batch(data: Path) -> Path:
    log = logs(data)[1]
    path = log.with_suffix(".index")
    last = {batch.last_offset for _, batch in positions_in(log)}
    base, entries = int(path.stem), list(struct.iter_unpack(">ii", path.read_bytes()))
    slot = next(s for s, (relative, _) in enumerate(entries) if s and base + relative - 1 not in last)
    patch(path, slot * 8, struct.pack(">i", entries[slot][0] - 1))
    return path


@damage(r"byte 16: entries are out of order: offset \d+ at byte \d+ after \d+ at \d+")
def index_out_of_order(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".index")
    patch(path, 16, path.read_bytes()[8:16])
    return path


@damage(r"an entry points offset \d+ at byte \d+, after the last batch")
def index_entry_behind_the_end(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".index")
    path.write_bytes(path.read_bytes() + struct.pack(">ii", 1 << 20, 1 << 20))
    return path


@damage(r"3 bytes after the last entry")
def index_with_a_torn_entry(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".index")
    path.write_bytes(path.read_bytes() + b"abc")
    return path


@damage(r"zeros instead of entries")
def index_that_was_never_trimmed(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".index")
    path.write_bytes(path.read_bytes() + bytes(800))
    return path


@damage(r"is missing")
def index_missing(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".index")
    path.unlink()
    return path


@damage(r"an entry gives offset \d+ the time \d+, its batch has \d+")
def time_index_with_another_time(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".timeindex")
    (time,) = struct.unpack(">q", path.read_bytes()[12:20])
    patch(path, 12, struct.pack(">q", time + 1))
    return path


@damage(r"an entry gives offset \d+ the time \d+, its batch has \d+")
def time_index_with_another_offset(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".timeindex")
    patch(path, 8, struct.pack(">i", 0))
    return path


@damage(r"entries are out of order: \d+ of offset \d+ after \d+ of \d+")
def time_index_out_of_order(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".timeindex")
    patch(path, 24, path.read_bytes()[:12])
    return path


@damage(r"the segment ends before it")
def time_index_entry_behind_the_end(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".timeindex")
    path.write_bytes(path.read_bytes() + struct.pack(">qi", NOW_MS * 2, 1 << 20))
    return path


@damage(r"is missing")
def time_index_missing(data: Path) -> Path:
    path = logs(data)[-1].with_suffix(".timeindex")
    path.unlink()
    return path


@damage(r"is missing, although producer \d aborted a transaction")
def transaction_index_missing(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".txnindex")
    path.unlink()
    return path


@damage(r"lacks the transaction of producer \d that was aborted at offset \d+")
def transaction_not_indexed(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".txnindex")
    path.write_bytes(path.read_bytes()[34:])
    return path


@damage(r"has the transaction of producer 99 that was aborted at offset \d+, which is not in the log")
def transaction_of_nobody(data: Path) -> Path:
    log = logs(data)[1]
    path = log.with_suffix(".txnindex")
    last = positions_in(log)[-1][1].last_offset
    path.write_bytes(path.read_bytes() + struct.pack(">hqqqq", 0, 99, last - 1, last, last))
    return path


@damage(r"has an entry of version 9")
def transaction_index_of_the_future(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".txnindex")
    patch(path, 1, b"\x09")
    return path


@damage(r"offset \d+ is not in the segment")
def transaction_of_another_segment(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".txnindex")
    path.write_bytes(logs(data)[2].with_suffix(".txnindex").read_bytes())
    return path


@damage(r"has \d+ bytes")
def transaction_index_with_a_torn_entry(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".txnindex")
    path.write_bytes(path.read_bytes() + b"abcde")
    return path


@damage(r"cannot be read: ")
def garbage_snapshot(data: Path) -> Path:
    path = logs(data)[2].with_suffix(".snapshot")
    if not path.exists():
        path = snapshots(data)[0]
    path.write_bytes(b"garbage")
    return path


@damage(r"cannot be read: stored crc")
def flipped_byte_in_a_snapshot(data: Path) -> Path:
    path = snapshots(data)[-1]
    patch(path, 20, bytes([path.read_bytes()[20] ^ 1]))
    return path


@damage(r"is at offset 99999, but the log ends at \d+")
def snapshot_beyond_the_end(data: Path) -> Path:
    path = snapshots(data)[-1]
    return path.rename(path.with_name(f"{99999:020}.snapshot"))


@damage(r"producer \d last wrote offset \d+, \d+ in the log")
def snapshot_of_an_earlier_time(data: Path) -> Path:
    path = snapshots(data)[-1]
    path.write_bytes(snapshots(data)[0].read_bytes())
    return path


def change_producer(data: Path, change: Callable[[ProducerEntry], None]) -> Path:
    path = snapshots(data)[-1]
    entries = decode_snapshot(path.read_bytes())
    change(entries[0])
    path.write_bytes(encode_snapshot(entries))
    return path


@damage(r"producer \d has the sequence 4444, \d+ in the log")
def snapshot_with_another_sequence(data: Path) -> Path:
    def change(entry: ProducerEntry) -> None:
        last = entry.batches.pop()
        entry.batches.append(BatchMetadata(4444, last.last_offset, last.offset_delta, last.timestamp))

    return change_producer(data, change)


@damage(r"producer \d has epoch 5, 0 in the log")
def snapshot_with_another_epoch(data: Path) -> Path:
    return change_producer(data, lambda entry: setattr(entry, "producer_epoch", 5))


@damage(r"producer \d has epoch -1, 0 in the log")
def snapshot_with_an_earlier_epoch(data: Path) -> Path:
    return change_producer(data, lambda entry: setattr(entry, "producer_epoch", -1))


@damage(r"producer \d wrote offset 55555, after the offset of the snapshot")
def snapshot_of_what_came_later(data: Path) -> Path:
    return change_producer(data, lambda entry: entry.batches.append(BatchMetadata(9, 55555, 0, NOW_MS)))


@damage(r"has the transaction of producer \d that was aborted at offset \d+ from \d+, but it begins at \d+")
def transaction_that_begins_too_late(data: Path) -> Path:
    path = logs(data)[1].with_suffix(".txnindex")
    (first,) = struct.unpack(">q", path.read_bytes()[10:18])
    patch(path, 10, struct.pack(">q", first + 1))
    return path


@damage(r"producer \d has an open transaction: .*; in the log: ")
def snapshot_with_another_open_transaction(data: Path) -> Path:
    def change(entry: ProducerEntry) -> None:
        entry.current_txn_first_offset = -1 if entry.current_txn_first_offset >= 0 else 3

    return change_producer(data, change)


@damage(r"is missing, although the batches have leader epochs")
def epochs_missing(data: Path) -> Path:
    path = epochs_file(data)
    path.unlink()
    return path


@damage(r"does not begin with a version and a count")
def epochs_garbage(data: Path) -> Path:
    path = epochs_file(data)
    path.write_text("garbage\n")
    return path


@damage(r"leader epoch 7 begins at offset 99999, beyond the log end at \d+")
def epoch_beyond_the_end(data: Path) -> Path:
    return write_epochs(data, [*read_epochs(data), EpochEntry(7, 99999)])


@damage(r"has leader epoch 0 for offset \d+, its batch has 1")
def epoch_that_begins_too_late(data: Path) -> Path:
    first, second, *rest = read_epochs(data)
    return write_epochs(data, [first, EpochEntry(second.epoch, second.start_offset + 9), *rest])


@damage(r"leader epoch 1 begins at offset \d+, but is listed after leader epoch 2 begins at offset \d+")
def epochs_out_of_order(data: Path) -> Path:
    first, second, third = read_epochs(data)[:3]
    return write_epochs(data, [first, third, second])


@damage(r"byte \d+: leader epoch 0 at offset \d+ follows 1")
def epoch_that_falls(data: Path) -> Path:
    path = next(
        path
        for path in logs(data)
        if positions_in(path)[0][1].partition_leader_epoch == 1 and len(positions_in(path)) > 3
    )
    patch(path, positions_in(path)[2][0] + 12, bytes(4))
    return path


@damage(r"is corrupt")
def partition_metadata_garbage(data: Path) -> Path:
    path = data / "topic-0" / "partition.metadata"
    path.write_text("garbage")
    return path


@damage(r"the topic id is \S+, but another partition of the topic has \S+")
def partition_metadata_of_another_topic(data: Path) -> Path:
    path = data / "plain-1" / "partition.metadata"
    path.write_bytes((data / "topic-0" / "partition.metadata").read_bytes())
    return path


@damage(r"is corrupt: it has no version")
def meta_properties_garbage(data: Path) -> Path:
    path = data / "meta.properties"
    path.write_text("garbage")
    return path


@damage(r"is missing")
def meta_properties_missing(data: Path) -> Path:
    path = data / "meta.properties"
    path.unlink()
    return path


@damage(r"should have 9 entries, but has 0")
def checkpoint_cut_off(data: Path) -> Path:
    path = data / "replication-offset-checkpoint"
    path.write_text("0\n9\n")
    return path


@damage(r"the recovery point of plain-0 is 4, but its log ends at 3")
def recovery_point_beyond_the_end(data: Path) -> Path:
    return write_checkpoint(data / "recovery-point-offset-checkpoint", "plain 0 4")


@damage(r"the log of plain-0 ends at 3, but at the clean stop it ended at 2")
def more_records_than_at_the_clean_stop(data: Path) -> Path:
    return write_checkpoint(data / "recovery-point-offset-checkpoint", "plain 0 2")


@damage(r"the high watermark of plain-1 is 4, but its log ends at 3")
def high_watermark_beyond_the_end(data: Path) -> Path:
    return write_checkpoint(data / "replication-offset-checkpoint", "plain 1 4")


@damage(r"the log start offset of plain-1 is 4, but its log ends at 3")
def log_start_beyond_the_end(data: Path) -> Path:
    return write_checkpoint(data / "log-start-offset-checkpoint", "plain 1 4", "topic 0 5")


@damage(r"belongs to no segment")
def log_missing(data: Path) -> Path:
    path = logs(data)[1]
    path.unlink()
    return path.with_suffix(".index")


@damage(r"has no segment")
def every_log_missing(data: Path) -> Path:
    for path in (data / "plain-0").iterdir():
        if path.suffix in (".log", ".index", ".timeindex"):
            path.unlink()
    return data / "plain-0"


def snapshots(data: Path) -> list[Path]:
    return sorted((data / "topic-0").glob("*.snapshot"))


def epochs_file(data: Path) -> Path:
    return data / "topic-0" / "leader-epoch-checkpoint"


def read_epochs(data: Path) -> list[EpochEntry]:
    return [EpochEntry(*map(int, line.split())) for line in epochs_file(data).read_text().splitlines()[2:]]


def write_epochs(data: Path, entries: list[EpochEntry]) -> Path:
    return write_checkpoint(epochs_file(data), *(f"{epoch} {start}" for epoch, start in entries))


def write_checkpoint(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in ("0", len(lines), *lines)))
    return path


@pytest.mark.parametrize(("name", "harm", "says"), DAMAGES, ids=[name for name, _, _ in DAMAGES])
def test_verify_finds_and_names_each_kind_of_damage(
    name: str, harm: Damage, says: str, data: Path, log_tool: LogTool
) -> None:
    path = harm(data)
    ran = log_tool("verify", data)
    assert ran.exit_code == 1
    assert any(re.match(re.escape(f"{path}: ") + ".*" + says, line) for line in ran.lines), "\n".join(ran.lines)
    assert ran.errors == []
    # No undamaged file is named, except that a wrong byte of a .log may show as a fault of the files beside it.
    if path.is_file() and path.suffix != ".log" and name != "log_missing":
        assert [line for line in ran.lines if not line.startswith(f"{path}: ")] == []
    others = [line for line in ran.lines if not line.startswith((str(path.parent), str(data / "topic-0")))]
    assert others == []


class TestOldFormats:
    """A message of magic 0 and 1, alone or compressed, has its checksum, and those inside have theirs."""

    @pytest.mark.parametrize("topic", ["golden1-v0-0", "golden1-v1-0", "golden1-v1-append-time-0"])
    @pytest.mark.parametrize("compressed", [False, True])
    def test_verify_finds_a_flipped_byte_in_old_formats(
        self, topic: str, compressed: bool, tmp_path: Path, log_tool: LogTool
    ) -> None:
        shutil.copytree(REFERENCE / "ibp-2.8" / "data", tmp_path, dirs_exist_ok=True)
        path = sorted((tmp_path / topic).glob("*.log"))[0]
        position, batch = next(found for found in positions_in(path) if found[1].is_compressed is compressed)
        at = position + batch.size_bytes - 1
        patch(path, at, bytes([path.read_bytes()[at] ^ 1]))
        ran = log_tool("verify", tmp_path)
        assert ran.exit_code == 1
        assert ran.lines[0].startswith(
            f"{path}: byte {position}: the batch of offset {batch.base_offset} has the checksum"
        )

    @pytest.mark.parametrize(
        ("offsets", "magic", "patched", "says"),
        [
            ((0, 0, 2), 1, None, "record 0 follows record 0 in the same batch"),
            ((0, 1, 2), 0, 9, "the message of offset 9 contains messages, but none with that offset last"),
        ],
    )
    def test_verify_finds_wrong_offsets_inside_compressed_messages(
        self, offsets: list[int], magic: int, patched: int | None, says: str, tmp_path: Path, log_tool: LogTool
    ) -> None:
        """The offset of the message itself is not covered by its checksum."""
        records = [Record(offset, NOW_MS, b"k", b"v") for offset in offsets]
        data = bytearray(build_message_set(records, magic, Codec.GZIP))
        if patched is not None:
            data[:8] = struct.pack(">q", patched)
        path = tmp_path / "old-0" / f"{0:020}.log"
        path.parent.mkdir()
        path.write_bytes(data)
        for suffix in (".index", ".timeindex"):
            path.with_suffix(suffix).touch()
        assert log_tool("verify", path.parent).lines == [f"{path}: byte 0: {says}"]


def test_verify_finds_a_time_index_that_misses_a_greater_timestamp(tmp_path: Path, log_tool: LogTool) -> None:
    log = open_log(tmp_path)
    append_as_leader(log, batch_of("late", timestamp_ms=NOW_MS + 9), 0, NOW_MS)
    append_as_leader(log, batch_of("early", timestamp_ms=NOW_MS), 0, NOW_MS)
    close_cleanly(log)
    path = Path(log.directory) / f"{0:020}.timeindex"
    path.write_bytes(struct.pack(">qi", NOW_MS, 1))
    (line,) = log_tool("verify", log.directory).lines
    assert line == f"{path}: an entry gives offset 1 the time {NOW_MS}, {NOW_MS + 9} lies before it"


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data_=st.data())
def test_verify_finds_any_changed_byte_of_a_log_or_a_snapshot(
    data_: st.DataObject, sound: Path, log_tool: LogTool
) -> None:
    path = data_.draw(st.sampled_from([*logs(sound), *snapshots(sound)]), "file")
    before = path.read_bytes()
    at = data_.draw(st.integers(0, len(before) - 1), "byte")
    wrong = data_.draw(st.integers(0, 255).filter(lambda value: value != before[at]), "value")
    patch(path, at, bytes([wrong]))
    try:
        assert log_tool("verify", sound / "topic-0").exit_code == 1
    finally:
        path.write_bytes(before)
