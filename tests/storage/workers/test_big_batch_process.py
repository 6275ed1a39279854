"""The big-batch process: jobs on large record batches run in a child process and give the same results."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import InvalidRecordError, RecordTooLargeError, RequestTimedOutError
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.conversion import down_convert
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record, build_batch, read_records
from pybroker.storage.errors import InvalidRecordsError
from pybroker.storage.inline_limits import DEFAULT_INLINE_BYTES, InlineLimits
from pybroker.storage.log.append_validation import prepare_leader_append
from pybroker.storage.log_config import LogConfig
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.segment.record_search import FoundOffset, first_between
from pybroker.storage.workers.big_batches import (
    BigBatchProcess,
    run_big_batch,
)
from pybroker.storage.workers.unpacking import BigBatchError, unpack_records
from support.logs.bombs import lz4_bomb, packed_batch
from support.processes.process_state import peak_mib

TOPIC = TopicPartition("topic", 0)
NOW_MS = 1_700_000_000_000


@pytest.fixture
def process() -> Iterator[BigBatchProcess]:
    one = BigBatchProcess()
    yield one
    one.close()


def big_batch(keys: bool = True, codec: Codec = Codec.LZ4) -> bytes:
    key = b"k" if keys else None
    return build_batch([Record(n, NOW_MS + n, key, bytes(DEFAULT_INLINE_BYTES)) for n in range(4)], codec=codec)


def prepare(records: bytes, config: LogConfig) -> bytes:
    prepared = prepare_leader_append(bytearray(records), TOPIC, config, 100, 7, NOW_MS, AppendOrigin.CLIENT)
    assert prepared is not None
    assert (prepared.first_offset, prepared.last_offset, prepared.max_timestamp) == (100, 103, NOW_MS + 3)
    return bytes(prepared.data)


def test_big_batch_is_checked_and_stored_unchanged() -> None:
    batch = big_batch()
    stored = RecordBatch(prepare(batch, LogConfig(cleanup_policy=("compact",), validate_every_record=True)), 0)
    assert (stored.base_offset, stored.partition_leader_epoch, stored.is_valid_crc()) == (100, 7, True)
    assert bytes(stored.payload()) == bytes(RecordBatch(batch, 0).payload())


def test_big_batch_is_converted_to_another_codec() -> None:
    stored = RecordBatch(prepare(big_batch(), LogConfig(compression_type="zstd")), 0)
    assert stored.compression is Codec.ZSTD
    found = {record.offset: record.value for record in read_records(stored)}
    assert found == {offset: bytes(DEFAULT_INLINE_BYTES) for offset in range(100, 104)}


def messages(count: int, value: bytes = b"v") -> bytes:
    return bytes(build_message_set([Record(n, NOW_MS + n, b"k", value) for n in range(count)], 1, Codec.NONE))


@pytest.mark.parametrize("codec", ["producer", "gzip"])
def test_many_messages_of_an_old_format_are_converted_in_the_process_with_the_same_result(codec: str) -> None:
    here = LogConfig(compression_type=codec)
    elsewhere = LogConfig(compression_type=codec, inline_max_records=3)
    assert prepare(messages(4), elsewhere) == prepare(messages(4), here)


def test_messages_that_cannot_fit_into_one_batch_are_refused_without_being_read() -> None:
    least = len(messages(1, b"")) - 1  # without its key
    config = LogConfig(max_message_bytes=7 * 1000)
    broken = b"\0" * 16 + b"\1" + messages(2000)[17:]
    with pytest.raises(RecordTooLargeError):
        prepare(messages(1) + broken[: least * 1000], config)
    with pytest.raises(RecordTooLargeError):  # too large after their conversion
        prepare(messages(900), config)
    assert len(prepare(messages(4), config)) < 7 * 1000


def test_refusal_of_a_big_batch_names_the_invalid_records() -> None:
    with pytest.raises(InvalidRecordsError) as refused:
        prepare(big_batch(keys=False), LogConfig(cleanup_policy=("compact",)))
    assert [error.batch_index for error in refused.value.record_errors] == [0, 1, 2, 3]


def test_record_in_a_big_batch_is_found_by_its_timestamp() -> None:
    batch = RecordBatch(big_batch(), 0)
    assert first_between(batch, NOW_MS + 2, NOW_MS + 9, 0, 1 << 28, InlineLimits()) == FoundOffset(NOW_MS + 2, 2, -1)
    assert first_between(batch, NOW_MS + 4, NOW_MS + 9, 0, 1 << 28, InlineLimits()) is None


def test_big_batch_is_converted_down_for_an_old_client(process: BigBatchProcess) -> None:
    arguments = (big_batch(), 1, 0, None, 1 << 28, unpack_records)
    with pytest.raises(BigBatchError):
        down_convert(*arguments)
    assert process.run(down_convert, *arguments) == down_convert(*arguments[:-1])


def test_job_is_refused_with_a_retriable_error_while_too_many_wait() -> None:
    process = BigBatchProcess(max_waiting=0)
    with process.reserved(), pytest.raises(RequestTimedOutError):
        process.run(len, b"12345")
    assert process.run(len, b"12345") == 5
    process.close()


def test_process_is_reused_for_the_next_batch(process: BigBatchProcess) -> None:
    # It ends when there was none for ten seconds, which can happen between two steps of a busy machine, but not always.
    assert any(process.run(os.getpid) == process.run(os.getpid) != os.getpid() for _ in range(20))


def test_new_process_is_started_after_one_has_ended(process: BigBatchProcess) -> None:
    first = process.run(os.getpid)
    with suppress(ProcessLookupError):
        os.kill(first, signal.SIGKILL)
    assert process.run(os.getpid) != first


def test_job_that_ends_the_process_fails_with_a_retriable_error(process: BigBatchProcess) -> None:
    with pytest.raises(RequestTimedOutError):
        process.run(os._exit, 1)
    assert process.run(len, b"12345") == 5


def test_process_runs_with_a_lower_priority(process: BigBatchProcess) -> None:
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert process.run(os.getpriority, os.PRIO_PROCESS, 0) == min(own + 5, 19)


def test_process_ends_with_the_broker_that_started_it(process: BigBatchProcess) -> None:
    while (child := process.child) is None:
        process.run(len, b"")
    stdin = child._process.stdin
    assert stdin is not None
    stdin.close()  # as when this process ends
    assert child.wait() == 0


def test_threads_that_use_the_process_at_once_get_their_own_results() -> None:
    process = BigBatchProcess(max_waiting=8)
    found: dict[int, int] = {}
    threads = [threading.Thread(target=lambda n=n: found.update({n: process.run(len, bytes(n))})) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: number for number in range(8)}
    process.close()


def test_big_batch_without_valid_records_is_refused() -> None:
    with pytest.raises(InvalidRecordError):
        prepare(packed_batch(Codec.LZ4, lz4_bomb(8 << 20), 4), LogConfig(validate_every_record=True))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the peak from /proc")
def test_big_batch_takes_at_most_four_times_its_unpacked_size_in_memory() -> None:
    size_mib = 64
    batch = build_batch([Record(0, NOW_MS, b"k", bytes(size_mib << 20))], codec=Codec.ZSTD)
    arguments = (batch, TOPIC, LogConfig(compression_type="gzip"), 100, 7, NOW_MS, AppendOrigin.CLIENT)
    prepare_leader_append(*arguments)
    assert run_big_batch(peak_mib, "self") <= 40 + 4 * size_mib
