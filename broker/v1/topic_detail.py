"""One topic: its partitions, settings, consumers and producers."""

from collections.abc import Iterable, Mapping
from functools import partial
from itertools import islice

from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaError
from ...protocol.messages.update_metadata import UpdateMetadataPartitionState
from ...replication.partition.hosted_partition import HostedPartition
from ...replication.partition.partition import Leader
from ...replication.partition.remote_replica import UNKNOWN_OFFSET, RemoteReplica
from ...storage.log.log import Log
from ...views.topics import Follower, PartitionRow, TopicDetail, TopicProducer
from .followers import caught_up_ms_ago
from .group_watch import TopicLag
from .known_state import KnownState
from .own_source import source_of
from .partition_health import offline_replicas
from .settings_view import topic_settings
from .slices import in_slices
from .topic_consumers import consumers_of
from .topics import TopicRows
from .traffic_view import topic_history

__all__ = ["describe_topic"]

_MOST_PRODUCERS = 1_000


async def describe_topic(state: KnownState, topic: str, lags: Mapping[str, TopicLag]) -> TopicDetail | None:
    """Return None when there is no such topic. ``lags``: see `GroupsLook.topics`."""
    row = TopicRows(state, lags).row_of(topic)
    if row is None:
        return None
    states = state.parts.cache.partitions(topic)
    hosted = {each.partition_index: _hosted(state, topic, each.partition_index) for each in states}
    logs = {index: found.log for index, found in hosted.items() if found is not None}
    oldest: dict[int, int | None] = await state.parts.run_in_pool(partial(_oldest_times, logs))
    partitions = [
        _partition(state, each, hosted[each.partition_index], oldest.get(each.partition_index))
        async for each in in_slices(states)
    ]
    producers, producers_total = await _producers([each for each in hosted.values() if each is not None])
    return TopicDetail(
        source=source_of(state),
        topic=row,
        partitions=tuple(partitions),
        settings=topic_settings(state, topic),
        consumers=await consumers_of(state, topic, hosted.keys()),
        producers_total=producers_total,
        producers=producers,
        history=topic_history(state, topic),
    )


def _hosted(state: KnownState, topic: str, index: int) -> HostedPartition | None:
    return state.parts.partitions.get(TopicPartition(topic, index))


def _oldest_times(logs: dict[int, Log]) -> dict[int, int | None]:
    """Return the largest timestamp of each log's first batch. Reads files, in a worker."""
    found: dict[int, int | None] = {}
    for index, log in logs.items():
        try:
            timestamp = log.segments[0].first_timestamp
        except (OSError, KafkaError):
            continue  # the log was deleted meanwhile, or its disk failed, which the partition's state shows
        found[index] = timestamp if timestamp >= 0 else None
    return found


def _partition(
    state: KnownState, known: UpdateMetadataPartitionState, hosted: HostedPartition | None, oldest_ms: int | None
) -> PartitionRow:
    leader = None if hosted is None else hosted.partition.leader
    partition = None if leader is None or hosted is None else hosted.partition
    view = None if hosted is None else hosted.log.view
    high_watermark = None if hosted is None else hosted.partition.high_watermark
    return PartitionRow(
        partition=known.partition_index,
        leader=known.leader if known.leader >= 0 else None,
        leader_epoch=known.leader_epoch,
        replicas=tuple(known.replicas),
        isr=tuple(known.isr),
        offline_replicas=offline_replicas(known, state.parts.cache.is_alive),
        adding_replicas=None if partition is None else partition.adding_replicas,
        removing_replicas=None if partition is None else partition.removing_replicas,
        is_led_here=leader is not None,
        is_local=hosted is not None,
        start_offset=None if view is None else view.log_start_offset,
        end_offset=high_watermark,
        log_end_offset=None if view is None else view.log_end_offset,
        last_stable_offset=None if view is None or high_watermark is None else view.last_stable_offset(high_watermark),
        size_bytes=None if view is None else view.size_bytes,
        segments=None if view is None else len(view.segments),
        oldest_ms=oldest_ms,
        log_directory=None if hosted is None else hosted.log.directory.rpartition("/")[0],
        followers=() if leader is None else _followers(leader, hosted, state.parts.partitions.monotonic_ms()),
    )


def _followers(leader: Leader, hosted: HostedPartition | None, now_ms: int) -> tuple[Follower, ...]:
    assert hosted is not None
    end = hosted.log.log_end_offset
    return tuple(_follower(leader, replica, end, now_ms) for _, replica in sorted(leader.replicas.items()))


def _follower(leader: Leader, replica: RemoteReplica, end: int, now_ms: int) -> Follower:
    fetched = replica.log_end_offset
    return Follower(
        broker_id=replica.broker_id,
        lag=None if fetched == UNKNOWN_OFFSET else max(end - fetched, 0),
        caught_up_ms_ago=caught_up_ms_ago(replica, now_ms),
        is_in_sync=replica.broker_id in leader.isr.members,
    )


async def _producers(hosted: Iterable[HostedPartition]) -> tuple[tuple[TopicProducer, ...], int]:
    """Return the producers of the partitions that this broker leads, and how many there are."""
    in_transactions: list[TopicProducer] = []
    others: list[TopicProducer] = []
    total = 0
    async for each in in_slices(hosted):
        if each.partition.leader is None:
            continue
        producers = await each.run(_producers_of)
        total += len(producers)
        async for producer in in_slices(producers):
            rows = others if producer.open_transaction_start_offset is None else in_transactions
            if len(rows) < _MOST_PRODUCERS:
                rows.append(producer)
    return tuple(islice((*in_transactions, *others), _MOST_PRODUCERS)), total


def _producers_of(log: Log) -> list[TopicProducer]:
    """Read the producers, on the log's strand, so that no append changes them meanwhile."""
    partition = log.topic_partition.partition
    return [
        TopicProducer(
            partition=partition,
            producer_id=entry.producer_id,
            producer_epoch=entry.producer_epoch,
            last_sequence=entry.last_sequence,
            last_timestamp_ms=entry.last_timestamp,
            open_transaction_start_offset=entry.current_txn_first_offset
            if entry.current_txn_first_offset >= 0
            else None,
            coordinator_epoch=entry.coordinator_epoch,
        )
        for entry in log.producer_state.producers.values()
    ]
