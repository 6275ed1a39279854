"""Batches behind one that a log refused for a passing reason: they get its error, until it is sent again."""

import errno
import gc
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker.protocol.errors import (
    ErrorCode,
    InvalidProducerEpochError,
    KafkaError,
    KafkaStorageError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    OutOfOrderSequenceError,
    RecordTooLargeError,
)
from pybroker.storage.log.append_chain import UNCHAINED, AppendChain
from pybroker.storage.log.append_group import append_together
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_append import FollowerAppend, LeaderAppend, LogAppendInfo
from pybroker.storage.log.strand import Strand
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.producers.refused_batches import RefusedBatch, RefusedBatches, refused_batch
from support.logs.storage_faults import FaultyFiles
from support.logs.storage_logs import NOW_MS, TP, batch_of, open_log
from support.logs.storage_pools import ManualPool

LAST_SEQUENCE = (1 << 31) - 1
MINUTE_MS = 60_000
MOST = 10


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
def log(tmp_path: Path, files: FaultyFiles) -> Log:
    return open_log(tmp_path, LogConfig(segment_bytes=100_000), files=files)


def append_of(sequence: int, *, producer_id: int = 1, epoch: int = 0, leader_epoch: int = 0) -> LeaderAppend:
    records = batch_of(str(sequence), producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    return LeaderAppend(records, leader_epoch, NOW_MS)


def chained(value: str, chain: AppendChain = UNCHAINED) -> LeaderAppend:
    return LeaderAppend(batch_of(value), 0, NOW_MS, AppendOrigin.COORDINATOR, chain=chain)


def fill(files: FaultyFiles) -> None:
    files.fault, files.operations = errno.ENOSPC, ("write", "create")


def codes(results: list[LogAppendInfo | KafkaError]) -> list[ErrorCode]:
    return [result.code if isinstance(result, KafkaError) else ErrorCode.NONE for result in results]


def one_by_one(log: Log, appends: list[LeaderAppend]) -> list[LogAppendInfo | KafkaError]:
    results: list[LogAppendInfo | KafkaError] = []
    for append in appends:
        try:
            results.append(log.append(append))
        except KafkaError as error:
            results.append(error)
    return results


def in_a_group(log: Log, appends: list[LeaderAppend]) -> list[LogAppendInfo | KafkaError]:
    return append_together(log, appends)


AppendAll = Callable[[Log, list[LeaderAppend]], list[LogAppendInfo | KafkaError]]
together_or_not = pytest.mark.parametrize("append_all", [one_by_one, in_a_group])


@together_or_not
def test_batches_behind_one_refused_by_a_full_disk_get_the_same_error(
    log: Log, files: FaultyFiles, append_all: AppendAll
) -> None:
    log.append(append_of(0))
    fill(files)
    refused = append_all(log, [append_of(1), append_of(2), append_of(3)])
    assert codes(refused) == [ErrorCode.KAFKA_STORAGE_ERROR] * 3
    files.fault = None
    assert codes(append_all(log, [append_of(2), append_of(3)])) == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert codes(append_all(log, [append_of(1), append_of(2), append_of(3)])) == [ErrorCode.NONE] * 3
    assert not log.producer_state.refused
    with pytest.raises(OutOfOrderSequenceError):
        log.append(append_of(9))


@together_or_not
def test_new_producers_second_batch_is_not_accepted_before_the_refused_first_one(
    log: Log, files: FaultyFiles, append_all: AppendAll
) -> None:
    """A log that knows nothing of a producer accepts any sequence."""
    fill(files)
    assert codes(append_all(log, [append_of(0)])) == [ErrorCode.KAFKA_STORAGE_ERROR]
    files.fault = None
    assert codes(append_all(log, [append_of(1)])) == [ErrorCode.KAFKA_STORAGE_ERROR]
    assert codes(append_all(log, [append_of(0), append_of(1)])) == [ErrorCode.NONE] * 2


def test_batches_of_other_producers_in_a_refused_group_are_remembered_too(log: Log, files: FaultyFiles) -> None:
    for producer_id in (1, 2):
        log.append(append_of(0, producer_id=producer_id))
    fill(files)

    def group(*sequences: int) -> list[LeaderAppend]:
        return [append_of(sequence, producer_id=producer_id) for sequence in sequences for producer_id in (1, 2)]

    assert codes(append_together(log, group(1, 2))) == [ErrorCode.KAFKA_STORAGE_ERROR] * 4
    files.fault = None
    assert codes(append_together(log, group(2))) == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    assert codes(append_together(log, group(1, 2))) == [ErrorCode.NONE] * 4


def test_refused_batch_of_a_new_epoch_comes_before_the_ones_behind_it(log: Log, files: FaultyFiles) -> None:
    log.append(append_of(0))
    fill(files)
    codes(one_by_one(log, [append_of(0, epoch=1)]))
    files.fault = None
    with pytest.raises(KafkaStorageError):
        log.append(append_of(1, epoch=1))
    with pytest.raises(OutOfOrderSequenceError):
        log.append(append_of(5))
    log.append(append_of(0, epoch=1))
    log.append(append_of(1, epoch=1))
    with pytest.raises(InvalidProducerEpochError):
        log.append(append_of(1))


def test_repeated_batch_is_a_duplicate_also_behind_a_refused_one(log: Log, files: FaultyFiles) -> None:
    log.append(append_of(0))
    fill(files)
    codes(one_by_one(log, [append_of(1)]))
    assert log.append(append_of(0)).duplicate


def test_refused_repetition_of_a_stored_batch_does_not_hide_a_later_refusal(log: Log, files: FaultyFiles) -> None:
    """The first response was lost, and the repetition is refused because the ISR is too small meanwhile."""
    stored = append_of(0)
    log.append(stored)
    refused = refused_batch(stored.records, NotEnoughReplicasError(), NOW_MS)
    assert refused is not None
    log.producer_state.note_refused(refused)
    fill(files)
    results = one_by_one(log, [append_of(1), append_of(2)])
    assert codes(results) == [ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.KAFKA_STORAGE_ERROR]


def test_append_fenced_by_a_leader_epoch_holds_back_the_next_one(log: Log) -> None:
    log.append(append_of(0))
    log.fence(2)
    with pytest.raises(NotLeaderOrFollowerError):
        log.append(append_of(1, leader_epoch=0))
    with pytest.raises(NotLeaderOrFollowerError):
        log.append(append_of(2, leader_epoch=2))
    log.append(append_of(1, leader_epoch=2))
    log.append(append_of(2, leader_epoch=2))


def test_append_that_needed_a_new_segment_holds_back_the_next_one(tmp_path: Path, files: FaultyFiles) -> None:
    pool = ManualPool()
    log = open_log(tmp_path, LogConfig(segment_bytes=100), files=files)
    strand = Strand(log, pool)
    results: list[LogAppendInfo | Exception] = []
    strand.append(append_of(0), results.append)
    fill(files)
    for sequence in (1, 2):
        strand.append(append_of(sequence), results.append)
    pool.run()
    files.fault = None
    strand.append(append_of(2), results.append)
    pool.run()
    assert all(isinstance(result, KafkaStorageError) for result in results[1:]), results
    assert len(results) == 4


def test_refusal_for_good_holds_nothing_back(log: Log) -> None:
    log.append(append_of(0))
    large = batch_of("x" * 200_000, producer_id=1, producer_epoch=0, base_sequence=1)
    with pytest.raises(KafkaError) as caught:
        log.append(LeaderAppend(large, 0, NOW_MS))
    assert caught.value.code in (ErrorCode.RECORD_LIST_TOO_LARGE, RecordTooLargeError.code)
    with pytest.raises(OutOfOrderSequenceError):
        log.append(append_of(2))


def test_batches_that_replication_brings_are_neither_remembered_nor_held_back(
    log: Log, files: FaultyFiles, tmp_path: Path
) -> None:
    leader = open_log(tmp_path / "leader")

    def replicated(sequence: int) -> FollowerAppend:
        append = append_of(sequence)
        leader.append(append)
        return FollowerAppend(append.records, NOW_MS)

    first = replicated(0)
    fill(files)
    with pytest.raises(KafkaStorageError):
        log.append(first)
    assert not log.producer_state.refused
    codes(one_by_one(log, [append_of(0)]))
    files.fault = None
    log.append(first)
    log.append(replicated(1))
    assert not log.producer_state.refused
    log.append(append_of(2))


def too_few(sequence: int, refused_ms: int = NOW_MS, *, producer_id: int = 1) -> RefusedBatch:
    return RefusedBatch(producer_id, 0, sequence, ErrorCode.NOT_ENOUGH_REPLICAS, "few", refused_ms)


def test_refused_batch_is_forgotten_a_minute_after_its_last_refusal() -> None:
    refused = RefusedBatches()
    refused.note(too_few(5), MOST)
    refused.note(too_few(5, NOW_MS + 50_000), MOST)
    refused.note(too_few(6, NOW_MS + 70_000), MOST)
    refused.remove_expired(NOW_MS + 50_000 + MINUTE_MS - 1)
    with pytest.raises(NotEnoughReplicasError, match="few"):
        refused.check(1, 0, 6, 4, NOW_MS + 50_000 + MINUTE_MS - 1)
    refused.check(1, 0, 6, 4, NOW_MS + 50_000 + MINUTE_MS)
    assert refused
    refused.remove_expired(NOW_MS + 50_000 + MINUTE_MS)
    assert not refused


def test_batch_refused_a_minute_ago_holds_nothing_back_before_it_is_removed(log: Log, files: FaultyFiles) -> None:
    log.append(append_of(0))
    fill(files)
    codes(one_by_one(log, [append_of(1)]))
    files.fault = None
    codes_of_next = [
        codes(one_by_one(log, [append_of(2)._replace(now_ms=now_ms)]))
        for now_ms in (NOW_MS + MINUTE_MS - 1, NOW_MS + MINUTE_MS)
    ]
    assert codes_of_next == [[ErrorCode.KAFKA_STORAGE_ERROR], [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]]


def test_later_batch_replaces_one_that_was_refused_a_minute_ago() -> None:
    refused = RefusedBatches()
    refused.note(too_few(5), MOST)
    refused.note(too_few(6, NOW_MS + MINUTE_MS), MOST)
    with pytest.raises(NotEnoughReplicasError, match="sequence 6 must come first"):
        refused.check(1, 0, 7, 4, NOW_MS + MINUTE_MS)


def test_expired_batches_of_other_producers_are_removed_with_the_next_refusal() -> None:
    refused = RefusedBatches()
    for producer_id in (1, 2, 3):
        refused.note(too_few(5, NOW_MS + producer_id, producer_id=producer_id), MOST)
    refused.note(too_few(5, NOW_MS + 2 + MINUTE_MS, producer_id=4), MOST)
    assert [each.producer_id for each in refused] == [3, 4]


def test_sequences_begin_again_at_zero_behind_the_last() -> None:
    refused = RefusedBatches()
    refused.note(too_few(LAST_SEQUENCE), MOST)
    with pytest.raises(NotEnoughReplicasError):
        refused.check(1, 0, 0, LAST_SEQUENCE - 1, NOW_MS)
    refused.check(1, 0, LAST_SEQUENCE, LAST_SEQUENCE - 1, NOW_MS)
    refused.appended(1, 0, 3)
    assert not refused


def test_refused_batches_of_as_many_producers_as_a_log_remembers_hold_back_the_ones_behind_them(
    tmp_path: Path, files: FaultyFiles
) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=10_000_000, max_producer_ids=1200), files=files)
    for producer_id in range(1200):
        log.append(append_of(0, producer_id=producer_id))
    fill(files)
    codes(one_by_one(log, [append_of(1, producer_id=producer_id) for producer_id in range(1200)]))
    files.fault = None
    behind = codes(one_by_one(log, [append_of(2, producer_id=producer_id) for producer_id in range(1200)]))
    assert set(behind) == {ErrorCode.KAFKA_STORAGE_ERROR}


def test_log_remembers_at_most_as_many_refused_batches_as_producers(tmp_path: Path, files: FaultyFiles) -> None:
    log = open_log(tmp_path, LogConfig(segment_bytes=100_000, max_producer_ids=3), files=files)
    fill(files)
    codes(one_by_one(log, [append_of(0, producer_id=producer_id) for producer_id in range(5)]))
    assert [each.producer_id for each in log.producer_state.refused] == [2, 3, 4]


def test_records_of_a_refused_batch_are_not_kept_in_memory(log: Log, files: FaultyFiles) -> None:
    class Records(bytearray):
        """Bytes that can be referred to weakly."""

    append = append_of(0)
    append = append._replace(records=Records(append.records))
    records = weakref.ref(append.records)
    fill(files)
    codes(one_by_one(log, [append]))
    del append
    gc.collect()
    assert log.producer_state.refused
    assert records() is None


@pytest.mark.parametrize("records", [b"", b"\0" * 61, bytes(batch_of("no producer"))])
def test_records_without_an_idempotent_producer_are_not_remembered(records: bytes) -> None:
    assert refused_batch(records, NotEnoughReplicasError("few"), NOW_MS) is None


def test_only_errors_after_which_clients_send_again_are_remembered() -> None:
    records = append_of(4).records
    assert refused_batch(records, OutOfOrderSequenceError(str(TP)), NOW_MS) is None
    found = refused_batch(records, NotLeaderOrFollowerError(str(TP)), NOW_MS)
    assert found is not None
    assert found[:4] == (1, 0, 4, ErrorCode.NOT_LEADER_OR_FOLLOWER)


@together_or_not
def test_batches_of_a_chain_stay_refused_after_one_of_them_was(
    log: Log, files: FaultyFiles, append_all: AppendAll
) -> None:
    """There is space again before the second, as for a smaller one at once. The state behind the chain is unknown then,
    and is read anew, with a new chain. Batches of other chains are not concerned."""
    chain, other = AppendChain(), AppendChain()
    assert codes(append_all(log, [chained("a", chain)])) == [ErrorCode.NONE]
    fill(files)
    assert codes(append_all(log, [chained("b", chain)])) == [ErrorCode.KAFKA_STORAGE_ERROR]
    files.fault = None
    several = [chained("c", chain), chained("d", other), chained("e"), chained("f", chain)]
    refused, accepted = ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NONE
    assert codes(append_all(log, several)) == [refused, accepted, accepted, refused]
    assert log.log_end_offset == 3
