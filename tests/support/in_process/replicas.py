"""Partitions with real logs in a temporary directory on the calling thread, and requests to them."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from itertools import count
from pathlib import Path
from uuid import UUID

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.metadata.leader_hints import BrokerEndpoint
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.requests.context import RequestContext
from pybroker.config.load import load_config
from pybroker.config.topic_config import TopicConfig
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import read_records
from pybroker.protocol.records.walk import Record
from pybroker.replication.partition.append_request import AppendRequest
from pybroker.replication.partition.append_result import AppendResult
from pybroker.replication.partition.fetch import FetchParams, FetchResult, PartitionFetch
from pybroker.replication.partition.hosted_partition import HostedPartition
from pybroker.replication.partition.isolation import Isolation
from pybroker.replication.partition.isr import PendingIsr
from pybroker.replication.partition.partition import Partition
from pybroker.replication.partition.partition_state import PartitionState
from pybroker.replication.partition_set import PartitionSet
from pybroker.replication.run_in_pool import RunInPool
from pybroker.replication.state_changes import Following, StateChanges
from pybroker.storage.files.files import Files
from pybroker.storage.store.log_store import LogStore
from pybroker.storage.workers.worker_pool import Pool
from support.logs.storage_pools import InlinePool

BROKER = 1
NOW_MS = 1_700_000_000_000
TOPIC = "orders"
TOPIC_ID = UUID(int=7)
TP = TopicPartition(TOPIC, 0)
ADDRESS = ConnectionInfo("PLAINTEXT", "PLAINTEXT", ("10.0.0.1", 9092), ("10.0.0.9", 50000))


class Replicas:
    """A broker's partitions: `PartitionSet`, `StateChanges` and `LogStore` over ``directory``. ``known``: all
    partitions of the cluster; ``alive``: the registered brokers; ``isrs``: as the last metadata told.
    """

    def __init__(
        self,
        directory: Path,
        settings: Mapping[str, str] | None = None,
        topics: Mapping[str, Mapping[str, str]] | None = None,
        pool: Pool | None = None,
        log_dirs: Iterable[Path] = (),
        propose_isr: Callable[[Partition, PendingIsr], None] | None = None,
        files: Files | None = None,
        broker_id: int = BROKER,
        fetchers: Following | None = None,
    ) -> None:
        self.broker_id = broker_id
        self.topics = dict(topics or {})
        dirs = ",".join(str(path) for path in (log_dirs or [directory]))
        self.config = load_config("", {"log.dirs": dirs, "file.delete.delay.ms": "0", **(settings or {})})
        self.pool = pool or InlinePool()
        self.logs = LogStore.open(
            self.config,
            files or Files(),
            self.pool,
            lambda: NOW_MS,
            topic_overrides=lambda topic: self.topics.get(topic, {}),
        )
        self.known: set[TopicPartition] = set()
        self.alive = {1, 2, 3}
        self.isrs: dict[TopicPartition, tuple[int, ...]] = {}
        self.broken: list[Exception] = []
        self.run_in_pool = RunInPool(self.pool)
        self.partitions = PartitionSet(
            asyncio.get_running_loop(),
            is_known=self.known.__contains__,
            run_in_pool=self.run_in_pool,
            propose_isr=propose_isr,
            broken=self.broken.append,
        )
        self.changes = StateChanges(
            broker_id,
            self.partitions,
            self.logs,
            topic_settings=lambda topic: TopicConfig.defaults(self.config, self.topics.get(topic, {})),
            is_alive=self.alive.__contains__,
            isr_of=lambda topic_partition: self.isrs.get(topic_partition, ()),
            replica_lag_time_max_ms=30_000,
            run_in_pool=self.run_in_pool,
            fetchers=fetchers,
        )
        self.logs.directories.on_failure = self.changes.directory_failed

    async def order(
        self,
        topic_partition: TopicPartition = TP,
        *,
        leader: int = BROKER,
        leader_epoch: int = 0,
        isr: tuple[int, ...] = (BROKER,),
        replicas: tuple[int, ...] = (BROKER,),
        partition_epoch: int | None = None,
        topic_id: UUID | None = TOPIC_ID,
        is_new: bool = True,
        controller_epoch: int = 1,
    ) -> ErrorCode:
        """Apply one LeaderAndIsr to one partition; by default, it leads without followers."""
        self.known.add(topic_partition)
        state = PartitionState(
            topic_partition,
            leader,
            leader_epoch,
            isr,
            leader_epoch if partition_epoch is None else partition_epoch,
            replicas,
            topic_id,
            is_new=is_new,
        )
        codes = await self.changes.become_leader_or_follower([state], controller_epoch)
        return codes[topic_partition]

    def hosted(self, topic_partition: TopicPartition = TP) -> HostedPartition:
        hosted = self.partitions.get(topic_partition)
        assert hosted is not None
        return hosted

    def append(
        self,
        records: bytes | None = None,
        topic_partition: TopicPartition = TP,
        *,
        acks: int = 1,
        timeout_ms: int = 1000,
    ) -> list[AppendResult]:
        """Append; the returned list gets the result when it is known."""
        results: list[AppendResult] = []
        data = bytearray(records if records is not None else batch_of(b"value"))
        self.partitions.append(AppendRequest(topic_partition, data, acks, timeout_ms, NOW_MS), results.append)
        return results

    def fetch(
        self, *fetches: PartitionFetch, params: FetchParams | None = None
    ) -> tuple[list[tuple[PartitionFetch, FetchResult]] | None, list[list[tuple[PartitionFetch, FetchResult]]]]:
        """Fetch; returns (immediate results or None, the list that gets later results)."""
        later: list[list[tuple[PartitionFetch, FetchResult]]] = []
        return self.partitions.reads.fetch(params or consumer(), list(fetches), later.append), later

    def close(self) -> None:
        assert self.broken == [], "no test here is to meet a bug"
        self.partitions.close()
        self.logs.close()


def fetch_from(
    offset: int,
    topic_partition: TopicPartition = TP,
    *,
    max_bytes: int = 1 << 20,
    leader_epoch: int = -1,
    last_epoch: int = -1,
) -> PartitionFetch:
    return PartitionFetch(
        (topic_partition.topic, topic_partition.partition),
        topic_partition,
        offset,
        max_bytes,
        current_leader_epoch=leader_epoch,
        last_fetched_epoch=last_epoch,
        log_start_offset=0,
    )


def consumer(
    *,
    max_wait_ms: int = 500,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    isolation: Isolation = Isolation.HIGH_WATERMARK,
) -> FetchParams:
    return FetchParams(max_wait_ms, min_bytes, max_bytes, isolation)


def follower(replica_id: int, *, max_wait_ms: int = 500, min_bytes: int = 1) -> FetchParams:
    return FetchParams(max_wait_ms, min_bytes, 1 << 20, Isolation.LOG_END, replica_id)


def batch_of(
    *values: bytes | None,
    codec: Codec = Codec.NONE,
    timestamps: Iterable[int] | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    is_transactional: bool = False,
) -> bytes:
    """One batch with a record for each value, as a producer sends it; timestamps rise from NOW_MS."""
    times = count(NOW_MS) if timestamps is None else timestamps
    records = [
        Record(offset, time, b"key", value) for offset, (value, time) in enumerate(zip(values, times, strict=False))
    ]
    return build_batch(
        records,
        codec=codec,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        is_transactional=is_transactional,
    )


def values_in(records: object) -> list[bytes | None]:
    """The values of all records in a region or in bytes."""
    return [value for _, value in offsets_and_values(records)]


def offsets_and_values(records: object) -> list[tuple[int, bytes | None]]:
    data = records.read() if hasattr(records, "read") else bytes(records or b"")  # type: ignore[call-overload]
    return [(record.offset, record.value) for batch in iter_batches(data) for record in read_records(batch)]


def request_context(version: int, client_id: str | None = "client") -> RequestContext:
    return RequestContext(version, 42, client_id, ADDRESS, NOW_MS)


class FixedHints:
    """Leaders and endpoints from a table, and topic names by id."""

    def __init__(self) -> None:
        self.leaders: dict[tuple[str, int], tuple[int, int]] = {}
        self.endpoints: dict[int, BrokerEndpoint] = {2: BrokerEndpoint(2, "two.example", 9093, "rack-b")}
        self.names: dict[UUID, str] = {TOPIC_ID: TOPIC}

    def leader_of(self, topic: str, partition: int) -> tuple[int, int] | None:
        return self.leaders.get((topic, partition))

    def endpoint_of(self, node_id: int, listener_name: str) -> BrokerEndpoint | None:
        return self.endpoints.get(node_id) if listener_name == "PLAINTEXT" else None

    def topic_name(self, topic_id: UUID) -> str | None:
        return self.names.get(topic_id)
