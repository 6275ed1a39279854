"""The live brokers, by the controller's metadata."""

from collections import Counter
from dataclasses import dataclass, field

from ...protocol.messages.update_metadata import UpdateMetadataPartitionState
from ...views.brokers import BrokerRow, Brokers, Endpoint
from .known_state import KnownState
from .own_source import source_of
from .slices import in_slices

__all__ = ["broker_rows", "list_brokers"]


@dataclass(slots=True)
class _Replicas:
    """Counts of partitions by broker id."""

    leaders: Counter[int] = field(default_factory=Counter)
    replicas: Counter[int] = field(default_factory=Counter)
    out_of_sync: Counter[int] = field(default_factory=Counter)
    elsewhere: Counter[int] = field(default_factory=Counter)

    def add(self, state: UpdateMetadataPartitionState) -> None:
        self.leaders[state.leader] += 1
        self.replicas.update(state.replicas)
        self.out_of_sync.update(each for each in state.replicas if each not in state.isr)
        if state.replicas and state.leader != state.replicas[0]:
            self.elsewhere[state.replicas[0]] += 1


async def broker_rows(state: KnownState) -> tuple[BrokerRow, ...]:
    """Return a row for each live broker, by id."""
    cache = state.parts.cache
    counts = _Replicas()
    async for topic in in_slices(cache.topics):
        for each in cache.partitions(topic):
            counts.add(each)
    return tuple(
        BrokerRow(
            id=broker_id,
            endpoints=tuple(
                Endpoint(listener=listener, host=endpoint.host, port=endpoint.port)
                for listener, endpoint in cache.endpoints_of(broker_id).items()
            ),
            rack=cache.rack_of(broker_id),
            is_controller=broker_id == cache.controller_id,
            is_local=broker_id == state.broker_id,
            leaders=counts.leaders[broker_id],
            replicas=counts.replicas[broker_id],
            out_of_sync=counts.out_of_sync[broker_id],
            preferred_leaders_elsewhere=counts.elsewhere[broker_id],
        )
        for broker_id in cache.broker_ids
    )


async def list_brokers(state: KnownState) -> Brokers:
    rows = await broker_rows(state)
    return Brokers(source=source_of(state), total=len(rows), items=rows)
