"""Tests of the filter for readers with read_committed."""

from pybroker.client.fetching.transaction_filter import TransactionFilter
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.protocol.records.record import Record, build_batch


def data(offset: int, producer_id: int = -1) -> RecordBatch:
    """Returns a data batch. `producer_id` -1 means outside of any transaction."""
    epoch = -1 if producer_id < 0 else 0
    records = [Record(offset, 1, None, b"v")]
    return RecordBatch(
        build_batch(
            records,
            is_transactional=producer_id >= 0,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=epoch,
        ),
        0,
    )


def marker(offset: int, producer_id: int, *, is_commit: bool) -> RecordBatch:
    kind = EndTransactionMarker(is_commit=is_commit, coordinator_epoch=0)
    return RecordBatch(
        build_marker_batch(kind, producer_id=producer_id, producer_epoch=0, timestamp_ms=1, base_offset=offset), 0
    )


def test_filter_hides_aborted_transaction_but_not_the_next_one() -> None:
    batches = [
        data(0, 7),
        data(1),
        data(2, 8),
        data(3, 7),
        marker(4, 7, is_commit=False),
        data(5, 7),
        marker(6, 8, is_commit=True),
        marker(7, 7, is_commit=True),
    ]
    hidden = TransactionFilter([(0, 7)])
    assert [batch.base_offset for batch in batches if hidden.hides(batch)] == [0, 3]


def test_filter_keeps_batches_committed_before_a_later_abort() -> None:
    batches = [data(0, 7), marker(1, 7, is_commit=True), data(2, 7), marker(3, 7, is_commit=False)]
    hidden = TransactionFilter([(2, 7)])
    assert [batch.base_offset for batch in batches if hidden.hides(batch)] == [2]


def test_filter_hides_the_rest_of_an_aborted_transaction_when_reading_starts_inside() -> None:
    hidden = TransactionFilter([(0, 7)])
    assert hidden.hides(data(5, 7))
    assert not hidden.hides(data(6))
