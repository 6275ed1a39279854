"""Idempotent producers and transactions in a log."""

from pathlib import Path

import pytest
from pybroker.protocol.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    KafkaError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.storage.log.append_group import append_together
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import LeaderAppend, LogAppendInfo
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers import producer_recovery
from pybroker.storage.producers.producer_snapshots import CorruptSnapshotError, decode_snapshot, encode_snapshot
from pybroker.storage.producers.producer_state import AppendOrigin, BatchMetadata, ProducerEntry
from support.logs.storage_logs import (
    CRASHED,
    NOW_MS,
    append_as_leader,
    batch_of,
    close_cleanly,
    crash_copy,
    open_log,
    records_from,
)

MAX_SEQUENCE = (1 << 31) - 1
DAY_MS = 24 * 3600 * 1000


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return open_log(tmp_path)


def send(
    log: Log, sequence: int, count: int = 1, *, epoch: int = 0, producer_id: int = 1, transactional: bool = False
) -> LogAppendInfo:
    records = batch_of(
        *(f"{sequence + number}" for number in range(count)),
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        is_transactional=transactional,
    )
    return append_as_leader(log, records, 0, NOW_MS)


def end(log: Log, *, commit: bool, producer_id: int = 1, epoch: int = 0, coordinator_epoch: int = 0) -> LogAppendInfo:
    marker = build_marker_batch(
        EndTransactionMarker(commit, coordinator_epoch),
        producer_id=producer_id,
        producer_epoch=epoch,
        timestamp_ms=NOW_MS,
    )
    return append_as_leader(log, bytearray(marker), 0, NOW_MS, AppendOrigin.COORDINATOR)


class TestSequences:
    def test_repeated_batch_among_the_last_five_is_a_duplicate_and_not_appended(self, log: Log) -> None:
        infos = [send(log, sequence, 2) for sequence in range(0, 14, 2)]
        for sequence, info in list(zip(range(0, 14, 2), infos, strict=True))[-5:]:
            repeat = send(log, sequence, 2)
            assert repeat.duplicate
            assert (repeat.first_offset, repeat.last_offset) == (info.first_offset, info.last_offset)
        assert log.log_end_offset == 14
        with pytest.raises(OutOfOrderSequenceError):
            send(log, 2, 2)

    def test_batch_with_a_known_sequence_but_another_length_is_no_duplicate(self, log: Log) -> None:
        send(log, 0, 3)
        with pytest.raises(OutOfOrderSequenceError):
            send(log, 0, 2)

    @pytest.mark.parametrize("sequence", [0, 2, 4, 100])
    def test_sequence_gap_or_step_back_is_refused_as_out_of_order(self, sequence: int, log: Log) -> None:
        send(log, 0, 3)
        with pytest.raises(OutOfOrderSequenceError):
            send(log, sequence)
        send(log, 3)

    def test_producer_without_state_may_start_at_any_sequence(self, log: Log) -> None:
        assert send(log, 42).first_offset == 0
        assert send(log, 43).first_offset == 1

    def test_sequence_after_the_greatest_one_is_zero(self, log: Log) -> None:
        send(log, MAX_SEQUENCE - 1, 2)
        send(log, 0)
        assert send(log, MAX_SEQUENCE - 1, 2).duplicate

    def test_batch_may_span_the_wrap_of_sequences(self, log: Log) -> None:
        send(log, MAX_SEQUENCE, 3)
        assert log.producer_state.producers[1].last_sequence == 1
        send(log, 2)
        assert send(log, MAX_SEQUENCE, 3).duplicate

    def test_new_producer_epoch_starts_at_sequence_zero(self, log: Log) -> None:
        send(log, 0, 3)
        with pytest.raises(OutOfOrderSequenceError):
            send(log, 3, epoch=1)
        assert not send(log, 0, 3, epoch=1).duplicate
        with pytest.raises(InvalidProducerEpochError):
            send(log, 3, epoch=0)

    def test_refused_write_changes_no_producer_state(self, log: Log) -> None:
        send(log, 0)
        with pytest.raises(OutOfOrderSequenceError):
            send(log, 7)
        assert log.producer_state.producers[1].last_sequence == 0

    def test_append_in_a_group_sees_the_earlier_batches_of_its_producer(self, log: Log) -> None:
        def append(sequence: int) -> LeaderAppend:
            return LeaderAppend(batch_of("x", producer_id=1, producer_epoch=0, base_sequence=sequence), 0, NOW_MS)

        results = append_together(log, [append(0), append(1), append(1), append(5), append(2)])
        assert [result.first_offset for result in results if isinstance(result, LogAppendInfo)] == [0, 1, 1, 2]
        assert isinstance(results[2], LogAppendInfo)
        assert results[2].duplicate
        assert isinstance(results[3], KafkaError)
        assert log.log_end_offset == 3

    @pytest.mark.parametrize("stop", ["clean", "crash"])
    def test_producer_state_survives_a_restart(self, stop: str, log: Log, tmp_path: Path) -> None:
        for sequence in range(8):
            send(log, sequence)
            if sequence == 3:
                log.roll(NOW_MS)
        if stop == "clean":
            log = open_log(tmp_path, start=close_cleanly(log))
        else:
            log.close_files()
            log = open_log(tmp_path, start=CRASHED)
        assert send(log, 7).duplicate
        with pytest.raises(OutOfOrderSequenceError):
            send(log, 12)
        send(log, 8)
        # Only the last batch is in a snapshot; those behind the snapshot are read again.
        assert [batch.last_sequence for batch in log.producer_state.producers[1].batches][-2:] == [7, 8]

    @pytest.mark.parametrize("rolls", [(), (3,), (6,), (9,), (10,), (6, 9), (5, 6, 7, 8, 9, 10)], ids=str)
    def test_repeats_of_the_last_five_batches_are_known_after_a_crash(
        self, rolls: tuple[int, ...], log: Log, tmp_path: Path
    ) -> None:
        offsets = {}
        for sequence in range(10):
            if sequence in rolls:
                log.roll(NOW_MS)
            offsets[sequence] = send(log, sequence).first_offset
            send(log, sequence, producer_id=2)
        if 10 in rolls:
            log.roll(NOW_MS)
        recovered = open_log(tmp_path / "crashed", start=crash_copy(log, tmp_path / "crashed"))
        for sequence in range(5, 10):
            repeat = send(recovered, sequence)
            assert (repeat.duplicate, repeat.first_offset) == (True, offsets[sequence])
        with pytest.raises(OutOfOrderSequenceError):
            send(recovered, 4)
        assert send(recovered, 10).first_offset == 20

    def test_batches_of_an_older_epoch_are_no_duplicates_after_a_crash(self, log: Log, tmp_path: Path) -> None:
        send(log, 0)
        send(log, 1)
        send(log, 0, epoch=1)
        recovered = open_log(tmp_path / "crashed", start=crash_copy(log, tmp_path / "crashed"))
        assert [batch.last_offset for batch in recovered.producer_state.producers[1].batches] == [2]

    def test_only_the_end_of_a_long_log_is_searched_for_repeats_after_a_crash(
        self, log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(producer_recovery, "_BYTES_UNDER_WAY", 200)
        for sequence in range(200):
            send(log, sequence)
        recovered = open_log(tmp_path / "crashed", start=crash_copy(log, tmp_path / "crashed"))
        assert send(recovered, 199).duplicate
        assert send(recovered, 200).first_offset == 200

    def test_idle_producers_expire_unless_they_have_an_open_transaction(self, log: Log) -> None:
        send(log, 0)
        send(log, 0, producer_id=2, transactional=True)
        log.remove_expired_producers(NOW_MS + DAY_MS)
        assert list(log.producer_state.producers) == [2]
        send(log, 55)

    def test_expired_producers_are_not_loaded_at_start(self, log: Log, tmp_path: Path) -> None:
        send(log, 0)
        start = close_cleanly(log)
        assert not open_log(tmp_path, start=start, now_ms=NOW_MS + DAY_MS).producer_state.producers

    def test_unreadable_snapshot_is_deleted_and_the_log_is_read_instead(self, log: Log, tmp_path: Path) -> None:
        send(log, 0)
        send(log, 1)
        start = close_cleanly(log)
        [snapshot] = Path(log.directory).glob("*.snapshot")
        snapshot.write_bytes(snapshot.read_bytes()[:-1] + b"!")
        later = open_log(tmp_path, start=start)
        assert later.log_end_offset == 2
        log = open_log(tmp_path, start=CRASHED)
        assert log.log_end_offset == 2


class TestTransactions:
    def test_last_stable_offset_waits_until_the_marker_is_replicated(self, log: Log) -> None:
        send(log, 0, 2, transactional=True)
        send(log, 0, 3, producer_id=2)
        assert log.last_stable_offset(5) == 0
        end(log, commit=True)
        assert log.last_stable_offset(5) == 0
        assert log.last_stable_offset(6) == 6

    def test_aborted_transactions_are_indexed_with_the_last_stable_offset(self, log: Log, tmp_path: Path) -> None:
        send(log, 0, 2, transactional=True)
        send(log, 0, 1, producer_id=2, transactional=True)
        end(log, commit=False)
        end(log, commit=False, producer_id=2)
        found = log.aborted_transactions(0, 5)
        assert [tuple(entry) for entry in found] == [(1, 0, 3, 2), (2, 2, 4, 5)]
        assert (Path(log.directory) / f"{0:020d}.txnindex").stat().st_size == 2 * 34
        again = open_log(tmp_path, start=CRASHED)
        assert again.aborted_transactions(0, 5) == found
        truncate_to(again, 4, NOW_MS)
        assert again.aborted_transactions(0, 5) == found[:1]
        assert again.last_stable_offset(4) == 2

    def test_marker_without_an_open_transaction_changes_nothing(self, log: Log) -> None:
        end(log, commit=False)
        assert log.aborted_transactions(0, 1) == []
        assert log.last_stable_offset(1) == 1

    def test_batch_outside_the_producers_open_transaction_is_refused(self, log: Log) -> None:
        send(log, 0, transactional=True)
        with pytest.raises(InvalidTxnStateError):
            send(log, 1)

    def test_older_coordinator_and_producer_epochs_are_fenced(self, log: Log) -> None:
        send(log, 0, transactional=True, epoch=1)
        end(log, commit=True, epoch=1, coordinator_epoch=5)
        with pytest.raises(TransactionCoordinatorFencedError):
            end(log, commit=True, epoch=1, coordinator_epoch=4)
        with pytest.raises(InvalidProducerEpochError):
            end(log, commit=True, epoch=0, coordinator_epoch=5)

    def test_late_marker_ends_the_next_transaction_of_the_same_epoch_as_in_kafka(self, log: Log) -> None:
        """Producers of transaction versions 0 and 1 keep their epoch, so nothing in the marker tells the difference.

        The rest of the transaction is another one for the log. A new coordinator's first marker closes the gap.
        """
        send(log, 0, transactional=True)
        end(log, commit=True, coordinator_epoch=5)
        send(log, 1, transactional=True)
        end(log, commit=True, coordinator_epoch=5)  # late
        send(log, 2, transactional=True)
        assert log.last_stable_offset(5) == 4
        end(log, commit=False, coordinator_epoch=6)
        assert [tuple(entry) for entry in log.aborted_transactions(0, 6)] == [(1, 4, 5, 6)]
        with pytest.raises(TransactionCoordinatorFencedError):
            end(log, commit=True, coordinator_epoch=5)

    def test_follower_reaches_the_same_producer_state_as_the_leader(self, log: Log, tmp_path: Path) -> None:
        send(log, 0, 2, transactional=True)
        send(log, 0, producer_id=2, transactional=True)
        end(log, commit=False)
        follower = open_log(tmp_path / "follower")
        region = log.read(0, 1 << 20, log.log_end_offset, min_one_batch=True).region
        assert region is not None
        follower.append_as_follower(region.read(), NOW_MS)
        assert follower.producer_state.producers == log.producer_state.producers
        assert follower.aborted_transactions(0, 9) == log.aborted_transactions(0, 9)
        assert follower.last_stable_offset(4) == log.last_stable_offset(4) == 2
        assert follower.last_stable_offset(3) == log.last_stable_offset(3) == 0

    def test_open_transaction_is_still_open_after_a_restart(self, log: Log, tmp_path: Path) -> None:
        send(log, 0, transactional=True)
        send(log, 0, producer_id=2)
        log = open_log(tmp_path, start=close_cleanly(log))
        assert log.last_stable_offset(2) == 0
        end(log, commit=True)
        assert log.last_stable_offset(3) == 3
        assert records_from(log)[0] == (0, b"0")

    @pytest.mark.parametrize("role", ["leader", "follower", "restarted"])
    def test_markers_of_unknown_producers_stay_within_the_limit_of_producers(self, role: str, tmp_path: Path) -> None:
        config = LogConfig(max_producer_ids=10)
        log = open_log(tmp_path, config)
        for producer_id in range(30):
            end(log, commit=False, producer_id=producer_id)
        if role == "follower":
            region = log.read(0, 1 << 20, log.log_end_offset, min_one_batch=True).region
            assert region is not None
            log = open_log(tmp_path / "follower", config)
            log.append_as_follower(region.read(), NOW_MS)
        elif role == "restarted":
            log = open_log(tmp_path, config, start=CRASHED)
        assert sorted(log.producer_state.producers) == list(range(20, 30))

    def test_producer_whose_marker_is_recent_is_not_the_first_to_be_forgotten(self, tmp_path: Path) -> None:
        log = open_log(tmp_path, LogConfig(max_producer_ids=3))
        for producer_id in (1, 2):
            send(log, 0, producer_id=producer_id)
        send(log, 0, producer_id=3, transactional=True)
        end(log, commit=True, producer_id=3, epoch=1)  # its batches are of the epoch before
        send(log, 0, producer_id=4)
        assert sorted(log.producer_state.producers) == [2, 3, 4]


class TestSnapshot:
    def test_producer_snapshot_is_read_back_as_written(self) -> None:
        entries = [ProducerEntry(5, 3, 2, NOW_MS, 17), ProducerEntry(6, 0, -1, NOW_MS, -1)]
        entries[0].batches.append(BatchMetadata(9, 20, 3, NOW_MS))
        assert decode_snapshot(encode_snapshot(entries)) == entries

    def test_producer_snapshot_keeps_only_the_last_batch(self) -> None:
        entry = ProducerEntry(5, 3)
        for sequence in range(5):
            entry.batches.append(BatchMetadata(sequence, sequence, 0, -1))
        [read] = decode_snapshot(encode_snapshot([entry]))
        assert [batch.last_sequence for batch in read.batches] == [4]

    def test_damaged_producer_snapshot_raises_one_typed_error(self) -> None:
        whole = encode_snapshot([ProducerEntry(5, 3, 2, NOW_MS, 17)])
        for size in range(len(whole)):
            with pytest.raises(CorruptSnapshotError):
                decode_snapshot(whole[:size])
        for position in range(len(whole)):
            with pytest.raises(CorruptSnapshotError):
                decode_snapshot(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])


def test_producer_ids_expire_after_a_day_by_default() -> None:
    assert LogConfig().producer_id_expiration_ms == DAY_MS
