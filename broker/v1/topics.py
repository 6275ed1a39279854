"""The list of topics."""

from collections.abc import Mapping
from dataclasses import replace
from operator import attrgetter
from uuid import UUID

from ...base.kafka_names import INTERNAL_TOPICS
from ...base.topic_partition import TopicPartition
from ...base.uuid_text import uuid_text
from ...protocol.codec import NULL_UUID
from ...views.query import Query
from ...views.topics import TopicRow, Topics
from .group_watch import TopicLag
from .known_state import KnownState
from .listing import page_of
from .own_source import source_of
from .partition_health import HealthCounts
from .slices import mapped_in_slices
from .traffic_view import topic_rates

__all__ = ["TopicRows", "list_topics"]


async def list_topics(state: KnownState, query: Query, lags: Mapping[str, TopicLag]) -> Topics:
    """Return the page of topics that the query asks for. ``lags``: see `GroupsLook.topics`."""
    rows = TopicRows(state, lags)
    names = state.parts.cache.topics
    wanted = query.text("state")
    is_wanted = None if wanted is None else lambda row: _is_in_state(row, wanted)
    page = await page_of(names, query, rows.row_of, "topic", is_wanted)
    columns = query.names("fields")
    document = Topics(
        source=source_of(state), total=len(names), matched=page.matched, items=page.rows, columns=None, rows=None
    )
    return await _in_columns(document, columns) if columns else document


async def _in_columns(document: Topics, columns: tuple[str, ...]) -> Topics:
    read = attrgetter(*columns)
    values_of = read if len(columns) > 1 else lambda row: (read(row),)
    rows = await mapped_in_slices(values_of, document.items)
    return replace(document, items=(), columns=columns, rows=tuple(rows))


def _is_in_state(row: TopicRow, state: str) -> bool:
    return row.is_internal if state == "internal" else bool(getattr(row, f"{state}_partitions"))


class _LocalSizes:
    """Sums over the replicas of a topic on this broker."""

    __slots__ = ("leaders", "on_disk_bytes", "records", "size_bytes")

    def __init__(self, state: KnownState, topic: str, indexes: list[int]) -> None:
        self.leaders = self.size_bytes = self.on_disk_bytes = self.records = 0
        for index in indexes:
            hosted = state.parts.partitions.get(TopicPartition(topic, index))
            if hosted is None:
                continue
            view = hosted.log.view
            size_bytes = view.size_bytes
            self.on_disk_bytes += size_bytes
            if hosted.partition.leader is not None:
                self.leaders += 1
                self.size_bytes += size_bytes
                self.records += max(hosted.partition.high_watermark - view.log_start_offset, 0)


class TopicRows:
    """Makes rows from the state as it is now. ``lags``: see `GroupsLook.topics`."""

    def __init__(self, state: KnownState, lags: Mapping[str, TopicLag]) -> None:
        self._state = state
        self._lags = lags

    def row_of(self, topic: str) -> TopicRow | None:
        """Return None when there is no such topic."""
        state, cache = self._state, self._state.parts.cache
        states = cache.partitions(topic)
        if not states:
            return None
        rules = state.rules_of(topic)
        health = HealthCounts()
        health.add(states, cache.is_alive, rules.min_isr)
        local = _LocalSizes(state, topic, [each.partition_index for each in states])
        rates = topic_rates(state, topic)
        lag = self._lags.get(topic)
        return TopicRow(
            topic=topic,
            topic_id=_shown_id(cache.topic_id(topic)),
            is_internal=topic in INTERNAL_TOPICS,
            partitions=health.partitions,
            replication_factor=health.replication_factor,
            offline_partitions=health.offline,
            under_replicated_partitions=health.under_replicated,
            under_min_isr_partitions=health.under_min_isr,
            leaders_here=local.leaders,
            size_bytes=local.size_bytes,
            size_on_disk_bytes=local.on_disk_bytes,
            records=local.records,
            messages_in_per_s=rates.messages_in_per_s,
            bytes_in_per_s=rates.bytes_in_per_s,
            bytes_out_per_s=rates.bytes_out_per_s,
            cleanup_policy=rules.cleanup_policy,
            retention_ms=rules.retention_ms,
            retention_bytes=rules.retention_bytes,
            max_lag=None if lag is None else lag.lag,
            max_lag_seconds=None if lag is None or lag.lag_s is None else round(lag.lag_s, 3),
        )


def _shown_id(topic_id: UUID) -> str | None:
    return None if topic_id == NULL_UUID else uuid_text(topic_id)
