"""All partitions in columns, with their replicas."""

from collections.abc import Callable

from ...protocol.messages.update_metadata import UpdateMetadataPartitionState
from ...views.partitions import PARTITION_COLUMNS, PartitionColumns, PartitionMatrix
from ...views.query import Query
from .known_state import KnownState
from .own_source import source_of
from .partition_health import is_offline, is_under_min_isr, is_under_replicated, offline_replicas
from .slices import in_slices, sorted_in_slices

__all__ = ["list_partitions"]


async def list_partitions(state: KnownState, query: Query) -> PartitionMatrix:
    """Return the page of partitions that the query asks for."""
    cache = state.parts.cache
    topic, wanted = query.text("topic"), query.text("state")
    topics = cache.topics if topic is None else [topic] if cache.has_topic(topic) else []
    start = query.number("offset")
    stop = start + query.number("limit")
    total = matched = 0
    rows: list[PartitionColumns] = []
    async for name in in_slices(await sorted_in_slices(topics)):
        states = cache.partitions(name)
        total += len(states)
        is_wanted = _filter(state, name, wanted)
        for each in states if is_wanted is None else filter(is_wanted, states):
            if start <= matched < stop:
                rows.append(_row(name, each, cache.is_alive))
            matched += 1
    return PartitionMatrix(
        source=source_of(state), total=total, matched=matched, columns=PARTITION_COLUMNS, rows=tuple(rows)
    )


def _filter(state: KnownState, topic: str, wanted: str | None) -> Callable[[UpdateMetadataPartitionState], bool] | None:
    is_alive = state.parts.cache.is_alive
    match wanted:
        case "offline":
            return lambda each: is_offline(each, is_alive)
        case "under_replicated":
            return is_under_replicated
        case "under_min_isr":
            min_isr = state.rules_of(topic).min_isr
            return lambda each: is_under_min_isr(each, min_isr)
        case "not_preferred":
            return lambda each: each.leader != each.replicas[0]
    return None


def _row(topic: str, state: UpdateMetadataPartitionState, is_alive: Callable[[int], bool]) -> PartitionColumns:
    return (
        topic,
        state.partition_index,
        state.leader if state.leader >= 0 else None,
        state.leader_epoch,
        tuple(state.replicas),
        tuple(state.isr),
        offline_replicas(state, is_alive),
    )
