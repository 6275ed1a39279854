"""How the delivery state of records is stored: batches of neighbours, without those that nobody acquired yet."""

from collections.abc import Iterable, Iterator, Mapping

from ..coordinator.share.state_batch import DeliveryState, StateBatch
from .record_runs import RecordState, Run

__all__ = ["add_state", "stored_runs"]

_TERMINAL: Mapping[int, RecordState] = {
    DeliveryState.ACKNOWLEDGED: RecordState.ACKNOWLEDGED,
    DeliveryState.ARCHIVED: RecordState.ARCHIVED,
}


def stored_runs(start_offset: int, batches: Iterable[StateBatch]) -> Iterator[Run]:
    """The runs from ``start_offset`` on. Offsets between the batches, and those of unknown state, are available."""
    for first_offset, last, stored_state, delivery_count in batches:
        first = max(first_offset, start_offset)
        if last < first:
            continue
        if first > start_offset:
            yield Run(start_offset, first - 1, RecordState.AVAILABLE)
        yield Run(first, last, _TERMINAL.get(stored_state, RecordState.AVAILABLE), delivery_count)
        start_offset = last + 1


def add_state(batches: list[StateBatch], run: Run, state: RecordState) -> None:
    """Add a run's new state to those to store, as one batch with the one before if it can be."""
    if batches:
        first, last, last_state, delivery_count = batches[-1]
        if last + 1 == run.first and (last_state, delivery_count) == (state, run.delivery_count):
            batches[-1] = StateBatch(first, run.last, state, delivery_count)
            return
    batches.append(StateBatch(run.first, run.last, state, run.delivery_count))
