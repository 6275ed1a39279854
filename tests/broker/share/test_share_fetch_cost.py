"""The work of a member's fetch grows in proportion to its batches, aborted or not."""

import os
from collections.abc import Callable, Sequence
from itertools import accumulate
from tempfile import TemporaryFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.broker.share.acknowledgements import Acknowledgement
from pybroker.broker.share.acquisition import Acquired, Acquisition, without
from pybroker.broker.share.read_batches import ReadBatches, RegionToRead, read_batches
from pybroker.broker.share.record_runs import OffsetSpan
from pybroker.broker.share.share_partition import SharePartition
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from pybroker.storage.files.files import File, FileRegion
from pybroker.storage.segment.transaction_index import AbortedTransaction
from support.examples import examples
from support.time.line_count import counted_lines

_END = 30
_bounds = st.lists(st.integers(0, _END), unique=True, max_size=20).map(sorted)


def region_of(batches: Sequence[bytes]) -> FileRegion:
    data = b"".join(batches)
    with TemporaryFile() as file:
        file.write(data)
        file.flush()
        return FileRegion(File(os.dup(file.fileno())), 0, len(data))


def transactional_batch(offset: int, count: int = 1, producer_id: int = 1, *, is_transactional: bool = True) -> bytes:
    records = [Record(offset + number, 0, None, b"") for number in range(count)]
    return build_batch(
        records, producer_id=producer_id, producer_epoch=0, base_sequence=0, is_transactional=is_transactional
    )


def read(region: FileRegion, stop_offset: int, aborted: Sequence[AbortedTransaction]) -> ReadBatches:
    [batches] = read_batches([RegionToRead(region, stop_offset, aborted)])
    assert isinstance(batches, ReadBatches)
    return batches


def lines_of(call: Callable[[], object]) -> int:
    with counted_lines() as count:
        call()
    return count.lines


class CountedSpans(list[OffsetSpan]):
    """Counts the spans that are taken out of the list."""

    taken = 0

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        found = super().__getitem__(index)
        self.taken += len(found) if isinstance(index, slice) else 1
        return found


def lines_of_acquiring_between_aborted(count: int, batch_size: int) -> int:
    share = SharePartition(0, (), max_locks=count, max_deliveries=5)
    spans = [OffsetSpan(offset, offset) for offset in range(count)]
    wish = Acquisition("a", count, batch_size, 100)
    return lines_of(lambda: share.acquire(wish, 0, spans, spans[::2]))


@pytest.mark.parametrize("batch_size", [1, 500])
def test_acquiring_twice_the_batches_between_aborted_ones_is_twice_the_work(batch_size: int) -> None:
    once, twice = (lines_of_acquiring_between_aborted(count, batch_size) for count in (100, 200))
    assert twice < 2.2 * once


def batches_taken_for_single_records(count: int) -> int:
    share = SharePartition(0, (), max_locks=count, max_deliveries=5)
    spans = CountedSpans(OffsetSpan(offset, offset) for offset in range(count))
    share.acquire(Acquisition("a", count, 1, 100), 0, spans)
    accept, release = 1, 2
    change = share.acknowledge(
        "a", [Acknowledgement(0, count - 1, [accept, release, release, release] * (count // 4))], 0
    )
    share.finish(change, is_stored=True, now_ms=0)
    spans.taken = 0
    share.acquire(Acquisition("b", count, 1, 100), 0, spans)
    return spans.taken


def test_acquiring_twice_the_runs_looks_at_twice_the_batches() -> None:
    once, twice = batches_taken_for_single_records(200), batches_taken_for_single_records(400)
    assert twice < 2.5 * once


def test_finding_aborted_batches_among_many_transactions_is_work_in_proportion_to_both() -> None:
    def lines(count: int) -> int:
        region = region_of([transactional_batch(offset, producer_id=offset) for offset in range(count)])
        aborted = [AbortedTransaction(count + number, 0, count, count) for number in range(count)]
        return lines_of(lambda: read(region, count, aborted))

    once, twice = lines(20), lines(40)
    assert twice < 2.2 * once


@settings(max_examples=examples(40))
@given(
    batches=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 4), st.booleans()), min_size=1, max_size=12),
    transactions=st.lists(st.tuples(st.integers(1, 3), st.integers(0, _END), st.integers(0, _END)), max_size=6),
    stop_offset=st.integers(0, _END),
)
def test_batch_is_aborted_when_a_transaction_of_its_producer_encloses_it(
    batches: list[tuple[int, int, bool]], transactions: list[tuple[int, int, int]], stop_offset: int
) -> None:
    aborted = [AbortedTransaction(producer_id, min(ends), max(ends), 0) for producer_id, *ends in transactions]
    firsts = list(accumulate((count for _, count, _ in batches), initial=0))
    log = [
        transactional_batch(first, count, producer_id, is_transactional=is_transactional)
        for first, (producer_id, count, is_transactional) in zip(firsts, batches, strict=False)
    ]
    expected = [
        OffsetSpan(first, first + count - 1)
        for first, (producer_id, count, is_transactional) in zip(firsts, batches, strict=False)
        if is_transactional
        and first < stop_offset
        and any(
            each.producer_id == producer_id and each.first_offset <= first and first + count - 1 <= each.last_offset
            for each in aborted
        )
    ]
    assert read(region_of(log), stop_offset, aborted).aborted == expected


@given(bounds=_bounds, others=_bounds)
def test_acquired_records_without_spans_are_those_outside_of_all_spans(bounds: list[int], others: list[int]) -> None:
    acquired = [Acquired(first, last, first) for first, last in zip(bounds[::2], bounds[1::2], strict=False)]
    spans = [OffsetSpan(first, last) for first, last in zip(others[::2], others[1::2], strict=False)]
    left_out = {offset for first, last in spans for offset in range(first, last + 1)}
    got = without(acquired, spans)
    assert [(offset, count) for first, last, count in got for offset in range(first, last + 1)] == [
        (offset, count)
        for first, last, count in acquired
        for offset in range(first, last + 1)
        if offset not in left_out
    ]
    assert all(part.first <= part.last for part in got)
