"""The APIs that write, read and delete records, with their handlers."""

from collections.abc import Mapping
from random import Random

from ....config.config import Config
from ....protocol.apis import ApiKey
from ....replication.leader.fetch_session import FetchSessions
from ....replication.record_deletion import RecordDeletion
from ....storage.inline_limits import InlineLimits
from ...requests.context import Handler
from ..broker_parts import BrokerParts
from .delete_records import DeleteRecords
from .fetch import Fetch
from .list_offsets import ListOffsets
from .near_consumers import NearConsumers
from .offset_for_leader_epoch import OffsetForLeaderEpoch
from .produce import Produce

__all__ = ["fetch_sessions", "record_apis"]


def fetch_sessions(config: Config, random: Random) -> FetchSessions:
    return FetchSessions(
        config.int("max.incremental.fetch.session.cache.slots"),
        lambda: random.randrange(1, 2**31),
        max_partitions=config.int("pybroker.fetch.sessions.max.partitions"),
    )


def record_apis(parts: BrokerParts) -> Mapping[ApiKey, Handler]:
    partitions = parts.partitions
    return {
        ApiKey.PRODUCE: Produce(partitions, parts.cache, parts.coordinators.transaction_checks, parts.cache.topic_name),
        ApiKey.FETCH: _fetch(parts),
        ApiKey.LIST_OFFSETS: ListOffsets(partitions),
        ApiKey.OFFSET_FOR_LEADER_EPOCH: OffsetForLeaderEpoch(partitions),
        ApiKey.DELETE_RECORDS: DeleteRecords(
            RecordDeletion(partitions), lambda partition: partitions.get(partition) is not None
        ),
    }


def _fetch(parts: BrokerParts) -> Fetch:
    config = parts.config
    fetch = Fetch(
        parts.partitions,
        parts.fetch_sessions,
        parts.cache,
        parts.cache,
        max_bytes=config.int("fetch.max.bytes"),
        max_decompressed_bytes=config.int("pybroker.batch.max.decompressed.bytes"),
        inline=InlineLimits(
            config.int("pybroker.batch.inline.max.bytes"), config.int("pybroker.batch.inline.max.records")
        ),
        max_waiting_bytes=config.int("pybroker.fetch.waiting.max.bytes"),
        near_consumers=NearConsumers.of(config, parts.cache),
        run_in_pool=parts.run_in_pool,
    )
    fetch.throttling = parts.throttling
    return fetch
