"""Any sequence of appends, rolls, truncations, retention, stops and crashes leaves a log equal to a list of records."""

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from pybroker.protocol.records.batch import iter_batches
from pybroker.storage.log.append_group import append_together
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import FollowerAppend, LeaderAppend, LogAppendInfo
from pybroker.storage.log.log_retention import apply_retention
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log_config import LogConfig
from pybroker.storage.recovery.log_recovery import StartingPoint
from support.examples import examples
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, close_cleanly, open_log, records_from

VALUES = st.lists(st.integers(0, 300).map(lambda size: b"v" * size), min_size=1, max_size=8)


class LogMachine(RuleBasedStateMachine):
    """The model: a list of batches, each a list of (offset, value), and the log start offset."""

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(prefix="pybroker-log-model-"))
        self.batches: list[list[tuple[int, bytes | None]]] = []
        self.start = 0
        self.end = 0
        self.epoch = 0
        self.now_ms = NOW_MS
        self.checkpoint = 0

    @initialize(segment_bytes=st.sampled_from([1200, 4000, 1 << 20]), interval=st.sampled_from([0, 200, 4096]))
    def begin(self, segment_bytes: int, interval: int) -> None:
        self.config = LogConfig(segment_bytes=max(segment_bytes, 3000), index_interval_bytes=interval, retention_ms=-1)
        self.log = self.open(StartingPoint(clean_stop=True))

    def open(self, start: StartingPoint) -> Log:
        return open_log(self.root, self.config, start, now_ms=self.now_ms)

    def start_again(self, start: StartingPoint) -> None:
        """No record is lost. A log end above the last record (after a truncation into a batch) is forgotten."""
        self.log = self.open(start)
        last_end = self.batches[-1][-1][0] + 1 if self.batches else 0
        assert max(last_end, self.start) <= self.log.log_end_offset <= self.end
        self.end = self.log.log_end_offset

    def note(self, values: list[bytes], info: LogAppendInfo) -> None:
        assert info.first_offset == self.end
        self.batches.append([(self.end + number, value) for number, value in enumerate(values)])
        self.end += len(values)
        assert info.last_offset == self.end - 1

    @rule(values=VALUES)
    def append(self, values: list[bytes]) -> None:
        self.now_ms += 1
        self.note(
            values, append_as_leader(self.log, batch_of(*values, timestamp_ms=self.now_ms), self.epoch, self.now_ms)
        )

    @rule(several=st.lists(VALUES, min_size=2, max_size=5))
    def append_together(self, several: list[list[bytes]]) -> None:
        appends = [
            LeaderAppend(batch_of(*values, timestamp_ms=self.now_ms), self.epoch, self.now_ms) for values in several
        ]
        for values, info in zip(several, append_together(self.log, appends), strict=True):
            assert isinstance(info, LogAppendInfo), info
            self.note(values, info)

    @rule(values=VALUES, gap=st.integers(0, 3))
    def replicate(self, values: list[bytes], gap: int) -> None:
        """Replicate from a leader whose log has gaps, as after compaction."""
        self.end += gap
        batch = batch_of(*values, base_offset=None, partition_leader_epoch=self.epoch)
        moved = bytearray(batch)
        moved[:8] = self.end.to_bytes(8, "big")
        results = append_together(self.log, [FollowerAppend(moved, self.now_ms)])
        assert isinstance(results[0], LogAppendInfo), results[0]
        self.note(values, results[0])

    @rule()
    def roll(self) -> None:
        self.log.roll(self.now_ms)

    @rule()
    def become_leader_again(self) -> None:
        self.epoch += 1
        self.log.assign_epoch_start(self.epoch)

    @rule(share=st.floats(0, 1))
    def truncate(self, share: float) -> None:
        offset = int(self.end * share)
        changed = truncate_to(self.log, offset, self.now_ms)
        assert changed == (offset < self.end)
        if changed:
            self.batches = [batch for batch in self.batches if batch[-1][0] < offset]
            # A truncation into a batch removes the whole batch. Offsets without batches stay after the others.
            least = self.batches[-1][-1][0] + 1 if self.batches else 0
            assert least <= self.log.log_end_offset <= offset
            self.end = self.log.log_end_offset
            self.start = min(self.start, self.end)
        self.checkpoint = min(self.checkpoint, self.log.recovery_point)

    @rule(share=st.floats(0, 1))
    def delete_records(self, share: float) -> None:
        offset = int(self.end * share)
        assert self.log.increment_log_start_offset(offset) == (offset > self.start)
        self.start = max(self.start, offset)

    @rule(share=st.floats(0, 1), keep=st.integers(0, 6000))
    def retain(self, share: float, keep: int) -> None:
        high_watermark = max(int(self.end * share), self.start)
        self.log.update_config(replace(self.config, retention_bytes=keep))
        apply_retention(self.log, self.now_ms, high_watermark)
        assert self.log.log_start_offset <= max(high_watermark, self.start)
        self.start = self.log.log_start_offset

    @rule()
    def flush(self) -> None:
        self.log.flush(self.now_ms)
        self.checkpoint = self.log.recovery_point

    @rule()
    def stop_and_start(self) -> None:
        self.start_again(close_cleanly(self.log, self.now_ms))
        self.checkpoint = self.log.recovery_point

    @rule()
    def crash_and_start(self) -> None:
        """Kill the process: the files stay as they are, the checkpoints may be old."""
        start = StartingPoint(self.start, self.checkpoint, clean_stop=False)
        self.log.close_files()
        self.start_again(start)

    @rule(torn=st.integers(1, 200))
    def crash_in_a_write(self, torn: int) -> None:
        whole = batch_of(b"lost" * 100)
        self.log.close_files()
        with open(self.log.segments[-1].log_ref.path, "ab") as stream:
            stream.write(whole[:torn])
        self.start_again(StartingPoint(self.start, self.checkpoint, clean_stop=False))

    @precondition(lambda self: self.batches)
    @rule(data=st.data())
    def fetch_somewhere(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.start, self.end))
        limit = data.draw(st.integers(offset, self.end))
        max_bytes = data.draw(st.sampled_from([0, 50, 500, 5000]))
        result = self.log.read(offset, max_bytes, limit, min_one_batch=True)
        expected = [batch for batch in self.batches if batch[-1][0] >= offset and batch[-1][0] < limit]
        if result.region is None:
            first = next((batch for batch in self.batches if batch[-1][0] >= offset), None)
            assert first is None or first[-1][0] >= limit or offset >= limit
            return
        found = list(iter_batches(result.region.read()))
        assert found, "at least one batch is whole"
        assert [batch.last_offset for batch in found] == [batch[-1][0] for batch in expected[: len(found)]]

    @invariant()
    def the_log_has_what_the_model_has(self) -> None:
        if not hasattr(self, "log"):
            return
        log = self.log
        assert (log.log_start_offset, log.log_end_offset) == (self.start, self.end)
        expected = [record for batch in self.batches for record in batch if record[0] >= self.start]
        assert records_from(log, max_bytes=700) == expected
        assert log.recovery_point <= self.end
        epochs = log.leader_epochs.entries
        assert list(epochs) == sorted(epochs)

    def teardown(self) -> None:
        if hasattr(self, "log"):
            self.log.close_files()
        shutil.rmtree(self.root)


# Every step reads files: shrinking a failure would take minutes, and a short run of steps reads well as it is.
LogMachine.TestCase.settings = settings(
    max_examples=examples(120), stateful_step_count=25, phases=[Phase.explicit, Phase.reuse, Phase.generate]
)
TestLogAgainstAList = LogMachine.TestCase
