"""One broker: its row, and for this broker its process, directories and listeners."""

import heapq
from collections import Counter
from collections.abc import Sequence

from ...replication.partition.remote_replica import RemoteReplica
from ...views.brokers import BrokerDetail, Directory, FollowerLag, Listener, LocalBroker, Process
from ..network.settings import Endpoint
from .api_times_view import api_rows
from .brokers import broker_rows
from .cluster import own_version
from .directories import directories
from .followers import caught_up_ms_ago
from .known_state import KnownState
from .own_source import source_of
from .process_facts import process_facts
from .slices import in_slices
from .traffic_view import broker_history, broker_rates

__all__ = ["describe_broker"]

_MOST_FOLLOWERS = 20


async def describe_broker(state: KnownState, broker_id: int) -> BrokerDetail | None:
    """Return None when the broker is not alive."""
    row = next((row for row in await broker_rows(state) if row.id == broker_id), None)
    if row is None:
        return None
    local = await _local(state) if broker_id == state.broker_id else None
    return BrokerDetail(source=source_of(state), broker=row, local=local)


async def _local(state: KnownState) -> LocalBroker:
    parts = state.parts
    process: Process = await parts.run_in_pool(process_facts)
    version: str = await parts.run_in_pool(own_version)
    found: Sequence[Directory] = await directories(state)
    return LocalBroker(
        version=version,
        broker_epoch=parts.metadata.broker_epoch,
        controller_epoch=parts.orders.controller_epoch,
        started_ms=state.started_ms,
        uptime_ms=max(state.clock_ms() - state.started_ms, 0),
        process=process,
        loop_idle=round(state.requests.loop.loop_idle, 3),
        pool_idle=round(state.requests.loop.pool_idle, 3),
        log_directories=tuple(found),
        listeners=await _listeners(state),
        apis=api_rows(state),
        follower_lag=await _follower_lag(state),
        rates=broker_rates(state),
        history=broker_history(state),
    )


async def _listeners(state: KnownState) -> tuple[Listener, ...]:
    connections: Counter[str] = Counter()
    async for connection in in_slices(state.listeners.connections()):
        connections[connection.info.listener_name] += 1
    return tuple(_listener(endpoint, connections[endpoint.listener_name]) for endpoint in state.endpoints)


def _listener(endpoint: Endpoint, connections: int) -> Listener:
    return Listener(
        name=endpoint.listener_name,
        host=endpoint.host,
        port=endpoint.port,
        security=endpoint.security_protocol,
        connections=connections,
    )


async def _follower_lag(state: KnownState) -> tuple[FollowerLag, ...]:
    """Return the followers that are furthest behind in the partitions that this broker leads, the worst first."""
    partitions = state.parts.partitions
    now_ms = partitions.monotonic_ms()
    behind: list[tuple[int, str, int, RemoteReplica]] = []
    async for hosted in in_slices(list(partitions.leaders())):
        assert hosted.partition.leader is not None
        end = hosted.log.log_end_offset
        behind.extend(
            (end - max(replica.log_end_offset, 0), *hosted.topic_partition, replica)
            for replica in hosted.partition.leader.replicas.values()
            if replica.log_end_offset < end
        )
    worst = heapq.nlargest(_MOST_FOLLOWERS, behind, key=lambda each: each[:3])
    return tuple(
        FollowerLag(
            topic=topic,
            partition=partition,
            broker_id=replica.broker_id,
            lag=lag,
            caught_up_ms_ago=caught_up_ms_ago(replica, now_ms),
        )
        for lag, topic, partition, replica in worst
    )
