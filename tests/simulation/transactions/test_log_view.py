"""Tests that a log is read as read_committed consumers read it."""

from simulation.transactions.log_view import CommittedView, LogBatch, Marker, committed_view


def data(offset: int, producer_id: int, value: bytes, *, is_transactional: bool = True) -> LogBatch:
    return LogBatch(offset, producer_id, 0, is_transactional, ((offset, None, value),))


def end(offset: int, producer_id: int, *, is_commit: bool) -> LogBatch:
    return LogBatch(offset, producer_id, 0, True, ((offset, b"", b""),), Marker(producer_id, 0, is_commit, 3))


def values(view: CommittedView) -> list[tuple[int, bytes | None]]:
    return [(each.offset, each.value) for each in view.committed]


def test_values_of_committed_transactions_are_read_in_the_order_of_offsets() -> None:
    batches = [
        data(0, 7, b"a"),
        data(1, 8, b"b"),
        data(2, -1, b"plain", is_transactional=False),
        end(3, 8, is_commit=True),
        data(4, 7, b"c"),
        end(5, 7, is_commit=True),
    ]
    view = committed_view(batches, 6)
    assert values(view) == [(0, b"a"), (1, b"b"), (2, b"plain"), (4, b"c")]
    assert view.open_from == {}
    assert view.stable_end == 6


def test_values_of_aborted_and_open_transactions_are_not_read() -> None:
    batches = [
        data(0, 7, b"a"),
        end(1, 7, is_commit=False),
        data(2, 7, b"b"),
        data(3, 8, b"c"),
        end(4, 8, is_commit=True),
    ]
    view = committed_view(batches, 5)
    assert values(view) == [(3, b"c")]
    assert view.open_from == {7: 2}
    assert view.stable_end == 2


def test_markers_tell_whether_they_ended_a_transaction() -> None:
    batches = [data(0, 7, b"a"), end(1, 7, is_commit=True), end(2, 7, is_commit=True)]
    view = committed_view(batches, 3)
    assert [(each.offset, each.has_ended) for each in view.markers] == [(1, True), (2, False)]
