"""Compaction of a log with transactions, compared with a model that knows how each of them ended."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.protocol.records.record import Record, build_batch, read_records
from pybroker.storage.compaction.compaction_job import CompactionSettings
from pybroker.storage.compaction.offset_map import ENTRY_BYTES
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from support.examples import examples
from support.logs.compaction import assessed, batches_of, compact_log, records_of
from support.logs.storage_logs import CRASHED, NOW_MS, append_as_leader, batch_of, close_cleanly, open_log

RETENTION_MS = 1000
CONFIG = LogConfig(
    segment_bytes=900, index_interval_bytes=200, cleanup_policy=("compact",), delete_retention_ms=RETENTION_MS
)
PRODUCERS = (1, 2)
KEYS = [b"a", b"b", b"c"]


class Append(NamedTuple):
    """A batch to append; with a producer it is part of that producer's transaction."""

    producer_id: int | None
    records: list[tuple[bytes, bytes | None]]


class Finish(NamedTuple):
    producer_id: int
    commit: bool


RECORDS = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from([b"", b"v", b"w" * 90, None])), min_size=1, max_size=4
)
STEPS = st.lists(
    st.one_of(
        st.builds(Append, st.sampled_from([None, *PRODUCERS]), RECORDS),
        st.builds(Finish, st.sampled_from(PRODUCERS), st.booleans()),
        st.sampled_from(["roll and compact", "roll and compact later", "compact", "reopen", "crash", "truncate"]),
    ),
    min_size=10,
    max_size=40,
)


@dataclass
class Transaction:
    """A transaction of one producer; `marker` is the offset of its marker."""

    producer_id: int
    offsets: list[int] = field(default_factory=list)
    marker: int | None = None
    is_committed: bool = False

    @property
    def is_aborted(self) -> bool:
        return self.marker is not None and not self.is_committed


@dataclass
class Model:
    """Every record ever appended, by offset, and the offsets that are still in the log. Markers have no record."""

    records: dict[int, Record] = field(default_factory=dict)
    transactions: list[Transaction] = field(default_factory=list)
    present: set[int] = field(default_factory=set)
    sequences: dict[int, int] = field(default_factory=dict)
    end: int = 0
    bare_since: dict[int, int] = field(default_factory=dict)
    """For each marker, the time (ms) from which compaction may know that no record of its transaction is left."""

    def open(self, producer_id: int) -> Transaction | None:
        found = (each for each in self.transactions if each.producer_id == producer_id and each.marker is None)
        return next(found, None)

    def append(self, producer_id: int | None, records: list[tuple[bytes, bytes | None]], base_sequence: int) -> None:
        transaction = None
        if producer_id is not None:
            transaction = self.open(producer_id)
            if transaction is None:
                self.transactions.append(transaction := Transaction(producer_id))
            self.sequences[producer_id] = base_sequence + len(records) - 1
        for number, (key, value) in enumerate(records):
            sequence = -1 if transaction is None else base_sequence + number
            self.records[self.end] = Record(self.end, NOW_MS, key, value, sequence=sequence)
            self.present.add(self.end)
            if transaction is not None:
                transaction.offsets.append(self.end)
            self.end += 1

    def finish(self, producer_id: int, *, commit: bool) -> None:
        transaction = self.open(producer_id)
        if transaction is None:
            self.transactions.append(transaction := Transaction(producer_id))
        transaction.marker, transaction.is_committed = self.end, commit
        self.present.add(self.end)
        self.end += 1

    @property
    def stable_end(self) -> int:
        """Return the last stable offset when everything is replicated."""
        return min((each.offsets[0] for each in self.transactions if each.marker is None), default=self.end)

    def aborted(self) -> set[int]:
        return {offset for each in self.transactions if each.is_aborted for offset in each.offsets}

    def seen_committed(self) -> list[Record]:
        """Return what a read_committed consumer must see."""
        aborted = self.aborted()
        offsets = sorted(offset for offset in self.present if offset in self.records and offset < self.stable_end)
        return [self.records[offset] for offset in offsets if offset not in aborted]

    def last_of_keys(self, first: int, end: int) -> dict[bytes | None, int]:
        aborted = self.aborted()
        data = sorted(offset for offset in self.present & self.records.keys() if first <= offset < end)
        return {self.records[offset].key: offset for offset in data if offset not in aborted}

    def cut(self, end: int, floor: int) -> bool:
        """Truncate to `end`. Return False without a change when this would reopen a transaction of which compaction,
        which has reached `floor`, may have left no trace."""
        torn = [each for each in self.transactions if each.marker is not None and each.marker >= end > 0]
        if end < floor or any(offset < min(floor, end) for each in torn for offset in each.offsets):
            return False
        for each in torn:
            each.marker, each.is_committed = None, False
        for each in self.transactions:
            each.offsets = [offset for offset in each.offsets if offset < end]
        self.transactions = [each for each in self.transactions if each.offsets or each.marker is not None]
        self.records = {offset: record for offset, record in self.records.items() if offset < end}
        self.present = {offset for offset in self.present if offset < end}
        self.bare_since = {marker: since for marker, since in self.bare_since.items() if marker < end}
        self.end = end
        return True


def read_committed(log: Log) -> list[Record]:
    """Return what a consumer reads from the batches and aborted transactions of a fetch (KIP-98)."""
    found: list[Record] = []
    offset, stable_end = log.log_start_offset, log.last_stable_offset(log.log_end_offset)
    while offset < stable_end:
        result = log.read(offset, 1 << 20, stable_end, True, with_aborted_transactions=True)
        if result.region is None:
            break
        ahead = sorted(result.aborted_transactions or (), key=lambda each: each.first_offset)
        inside: set[int] = set()
        for batch in batches_of(result.region.read()):
            while ahead and ahead[0].first_offset <= batch.last_offset:
                inside.add(ahead.pop(0).producer_id)
            if batch.is_control:
                inside.discard(batch.producer_id)
            elif not (batch.is_transactional and batch.producer_id in inside):
                found.extend(record for record in read_records(batch) if offset <= record.offset < stable_end)
            offset = batch.next_offset
    return found


def check_same(log: Log, model: Model) -> None:
    found = records_of(log)
    assert [record.offset for record in found] == sorted(model.present)
    for record in found:
        if record.offset in model.records:
            assert record == model.records[record.offset]
    assert log.last_stable_offset(log.log_end_offset) == model.stable_end
    assert read_committed(log) == model.seen_committed()


def check_compacted(model: Model, before: Model, first_dirty: int, end: int, whole_end: int, now_ms: int) -> None:
    """Check that a compaction of [first_dirty, end) may turn `before` into `model`; segments reach to `whole_end`."""
    last, aborted = before.last_of_keys(first_dirty, end), before.aborted()
    for offset in before.present & before.records.keys():
        record = before.records[offset]
        if offset in aborted:
            assert offset >= end or offset not in model.present, f"{record} was aborted and stays"
            assert offset < whole_end or offset in model.present
        elif offset < end and offset < last.get(record.key, -1):
            assert offset not in model.present, f"{record} is not the last of its key"
        elif record.value is not None or offset >= first_dirty:
            assert offset in model.present, f"{record} is lost"
    for each in before.transactions:
        if each.marker in before.present and each.marker not in model.present:
            assert not model.present.intersection(each.offsets), f"{each} lost its marker before its records"
            assert before.bare_since[each.marker] + RETENTION_MS <= now_ms, f"{each} lost its marker too soon"


def note_bare_markers(model: Model, end: int, now_ms: int) -> None:
    for each in model.transactions:
        if each.marker is not None and each.marker < end and not model.present.intersection(each.offsets):
            model.bare_since.setdefault(each.marker, now_ms)


def append(log: Log, producer_id: int | None, records: list[tuple[bytes, bytes | None]], codec: Codec) -> int:
    """Append the batch and return its base sequence."""
    made = [Record(number, NOW_MS, key, value) for number, (key, value) in enumerate(records)]
    known = None if producer_id is None else log.producer_state.producers.get(producer_id)
    sequence = -1 if producer_id is None else 0 if known is None else known.last_sequence + 1
    data = build_batch(
        made,
        codec=codec,
        producer_id=-1 if producer_id is None else producer_id,
        producer_epoch=-1 if producer_id is None else 0,
        base_sequence=sequence,
        is_transactional=producer_id is not None,
    )
    append_as_leader(log, bytearray(data), 0, NOW_MS)
    return sequence


def finish(log: Log, producer_id: int, *, commit: bool) -> None:
    marker = EndTransactionMarker(commit, 0)
    batch = build_marker_batch(marker, producer_id=producer_id, producer_epoch=0, timestamp_ms=NOW_MS)
    append_as_leader(log, bytearray(batch), 0, NOW_MS, AppendOrigin.COORDINATOR)


@settings(max_examples=examples(80))
@given(STEPS, st.sampled_from([Codec.NONE, Codec.ZSTD]), st.sampled_from([2 * ENTRY_BYTES, 1000 * ENTRY_BYTES]))
def test_read_committed_consumer_of_a_compacted_log_sees_exactly_the_committed_records(
    steps: list[object], codec: Codec, map_bytes: int
) -> None:
    """Open transactions stay, aborted ones are removed, and markers are removed later, when no record of theirs is
    left.
    """
    with TemporaryDirectory() as name:
        log = open_log(Path(name), CONFIG)
        model = Model()
        first_dirty, floor, now_ms = 0, 0, NOW_MS
        is_cut = False
        for step in steps:
            match step:
                case Finish(producer_id, commit):
                    finish(log, producer_id, commit=commit)
                    model.finish(producer_id, commit=commit)
                case Append(producer_id, records):
                    model.append(producer_id, records, append(log, producer_id, records, codec))
                case "reopen":
                    log = open_log(Path(name), CONFIG, close_cleanly(log))
                case "crash":
                    log.close_files()
                    log = open_log(Path(name), CONFIG, CRASHED)
                case "truncate":
                    ends = [
                        end for end in batch_ends(log) if end >= (log.log_start_offset + 2 * log.log_end_offset) // 3
                    ]
                    if ends and model.cut(ends[0], floor):
                        truncate_to(log, ends[0], NOW_MS)
                        is_cut = True
                case _:
                    if step != "compact":
                        log.roll(NOW_MS)
                    if assessed(log, first_dirty).cleanable_bytes:
                        now_ms += RETENTION_MS if step == "roll and compact later" else 1
                        bases = [segment.base_offset for segment in log.segments]
                        end = compact_log(
                            log, first_dirty, now_ms=now_ms, settings=CompactionSettings(map_bytes, load_factor=1.0)
                        )
                        whole_end = min((base for base in bases if base >= end), default=model.end)
                        note_bare_markers(model, whole_end, now_ms)
                        after = Model(**{**vars(model), "present": {record.offset for record in records_of(log)}})
                        assert after.present <= model.present
                        check_compacted(after, model, first_dirty, end, whole_end, now_ms)
                        model, first_dirty, floor = after, end, max(floor, whole_end)
            check_same(log, model)
            if not is_cut:
                known = {number: entry.last_sequence for number, entry in log.producer_state.producers.items()}
                assert {number: known.get(number) for number in model.sequences} == model.sequences
        log.close_files()


def batch_ends(log: Log) -> Iterator[int]:
    for segment in log.segments:
        for span in segment.spans(0, segment.size_bytes):
            yield span.last_offset + 1


@pytest.mark.parametrize("commit", [True, False])
def test_aborted_record_does_not_supersede_an_older_record_of_its_key(commit: bool, tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    append_as_leader(log, batch_of("plain", key=b"a"), 0, NOW_MS)
    append(log, 1, [(b"a", b"in a transaction")], Codec.NONE)
    finish(log, 1, commit=commit)
    log.roll(NOW_MS)
    compact_log(log)
    kept = [(record.offset, record.value) for record in records_of(log) if record.key == b"a"]
    assert kept == [(1, b"in a transaction") if commit else (0, b"plain")]
