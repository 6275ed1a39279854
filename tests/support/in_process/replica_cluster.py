"""Partitions of several brokers in one process that fetch from each other without sockets.

Requests pass through the handlers and the codec of the broker. The test is the controller and decides when a
follower fetches.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.records.fetch import Fetch
from pybroker.broker.apis.records.list_offsets import ListOffsets
from pybroker.broker.apis.records.offset_for_leader_epoch import OffsetForLeaderEpoch
from pybroker.broker.inter_broker.remote_leader import FetchSettings, LeaderVersions, RemoteLeader
from pybroker.protocol.codec import Message, decode, encode_parts
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchRequest
from pybroker.protocol.messages.list_offsets import ListOffsetsRequest
from pybroker.protocol.messages.offset_for_leader_epoch import OffsetForLeaderEpochRequest
from pybroker.replication.follower.fetcher import Fetcher
from pybroker.replication.follower.fetcher_pool import FetcherId, ReplicaFetchers
from pybroker.replication.leader.fetch_session import FetchSessions
from pybroker.replication.partition.append_result import AppendResult
from pybroker.replication.partition.isr import PendingIsr
from pybroker.replication.partition.partition import Partition
from pybroker.storage.files.files import Files
from pybroker.storage.workers.worker_pool import Pool
from support.in_process.replicas import NOW_MS, TOPIC_ID, TP, FixedHints, Replicas, offsets_and_values, request_context

__all__ = [
    "BEFORE_DIVERGENCE_IN_FETCH",
    "LATEST_VERSIONS",
    "HandlerLink",
    "ReplicaBroker",
    "ReplicaCluster",
    "SteppedFetcher",
]

LATEST_VERSIONS = LeaderVersions(fetch=17, list_offsets=9, offset_for_leader_epoch=4)
BEFORE_DIVERGENCE_IN_FETCH = LeaderVersions(fetch=11, list_offsets=5, offset_for_leader_epoch=3)


class HandlerLink:
    """A link to a broker of this process: messages pass through the codec in both directions, to the broker's
    handlers.
    """

    def __init__(self, peer: "Callable[[], ReplicaBroker | None]") -> None:
        self._peer = peer
        self.asked: list[tuple[Message, int]] = []
        self.answered: list[Any] = []
        self.is_cut = False

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        self.asked.append((request, version))
        peer = self._peer()
        if self.is_cut or peer is None:
            raise ConnectionError("the link is cut")
        answer = await peer.answer(decode(type(request), _bytes_of(request, version), version), version)
        if self.is_cut:
            raise ConnectionError("the link was cut")
        decoded = decode(type(answer), bytearray(_bytes_of(answer, version)), version)
        self.answered.append(decoded)
        return decoded

    def kill(self) -> None:
        self.is_cut = True

    async def close(self) -> None:
        self.kill()


class SteppedFetcher(Fetcher):
    """Fetches when the test calls `step`."""

    link: HandlerLink

    def start(self) -> None:
        """Does nothing; the test calls `step`."""


class ReplicaBroker(Replicas):
    """One broker. Its fetchers are ``SteppedFetcher``s, or run on their own with ``runs``."""

    def __init__(
        self,
        cluster: "ReplicaCluster",
        broker_id: int,
        directory: Path,
        settings: Mapping[str, str],
        *,
        runs: bool = False,
        pool: Pool | None = None,
        files: Files | None = None,
        propose_isr: Callable[[Partition, PendingIsr], None] | None = None,
        topics: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.cluster = cluster
        self._runs = runs
        self.now_ms = 0
        self.fetchers = ReplicaFetchers(int(settings.get("num.replica.fetchers", "1")), self._new_fetcher)
        self.made: dict[FetcherId, SteppedFetcher] = {}
        super().__init__(
            directory,
            settings,
            topics,
            pool,
            propose_isr=propose_isr,
            files=files,
            broker_id=broker_id,
            fetchers=self.fetchers,
        )
        self.sessions = FetchSessions(1000, iter(range(broker_id * 1000, 1 << 30)).__next__)
        self._handlers: dict[type[Message], Callable[[Any, Any], Any]] = {
            FetchRequest: Fetch(
                self.partitions,
                self.sessions,
                FixedHints(),
                FixedHints(),
                max_bytes=1 << 30,
                run_in_pool=self.run_in_pool,
            ),
            ListOffsetsRequest: ListOffsets(self.partitions),
            OffsetForLeaderEpochRequest: OffsetForLeaderEpoch(self.partitions),
        }

    def _new_fetcher(self, fetcher_id: FetcherId) -> Fetcher:
        link = HandlerLink(lambda: self.cluster.brokers.get(fetcher_id.leader_id))
        leader = RemoteLeader(
            link,
            self.broker_id,
            self.cluster.versions,
            FetchSettings(self.cluster.max_wait_ms, 1, 10 << 20, 1 << 20, 30_000),
            lambda: 100 + self.broker_id,
        )
        kind = Fetcher if self._runs else self.cluster.fetcher_kind
        fetcher = kind(
            f"fetcher {fetcher_id.number} of {self.broker_id} from {fetcher_id.leader_id}",
            asyncio.get_running_loop(),
            leader,
            self.partitions,
            backoff_ms=self.cluster.backoff_ms,
            clock_ms=lambda: NOW_MS,
            broken=self.broken.append,
        )
        cast("SteppedFetcher", fetcher).link = link
        self.made[fetcher_id] = cast("SteppedFetcher", fetcher)
        return fetcher

    async def answer(self, request: Message, version: int) -> Message:
        answer = self._handlers[type(request)](request_context(version), request)
        return cast("Message", await answer if isinstance(answer, Awaitable) else answer)

    def fetcher(self, leader_id: int, number: int = 0) -> SteppedFetcher:
        return self.made[FetcherId(leader_id, number)]

    async def fetch_from(self, leader_id: int, times: int = 1) -> None:
        """Let the fetcher of this leader truncate and fetch this many times."""
        for _ in range(times):
            await self.fetcher(leader_id).step()

    @property
    def offsets(self) -> tuple[int, int, int]:
        """(log start offset, high watermark, log end offset)."""
        hosted = self.hosted()
        return hosted.log.log_start_offset, hosted.partition.high_watermark, hosted.log.log_end_offset

    def records(self, topic_partition: TopicPartition = TP) -> list[tuple[int, bytes | None]]:
        log = self.hosted(topic_partition).log
        found: list[tuple[int, bytes | None]] = []
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            some = offsets_and_values(log.read(offset, 1 << 20, log.log_end_offset, True).region)
            found += [entry for entry in some if entry[0] >= offset]
            offset = some[-1][0] + 1
        return found

    def epochs(self) -> list[tuple[int, int]]:
        return [tuple(entry) for entry in self.hosted().log.leader_epochs.entries]  # type: ignore[misc]

    def produce(self, records: bytes, acks: int = 1) -> list[AppendResult]:
        return self.append(records, acks=acks, timeout_ms=3_600_000)

    def close(self) -> None:
        self.fetchers.kill()
        super().close()


class ReplicaCluster:
    """Brokers 1, 2, …, which are all replicas of partition `TP` unless a test says otherwise."""

    def __init__(
        self,
        directory: Path,
        count: int = 2,
        *,
        versions: LeaderVersions = LATEST_VERSIONS,
        settings: Mapping[str, str] | None = None,
        max_wait_ms: int = 0,
        backoff_ms: int = 0,
        runs: bool = False,
        topics: Mapping[str, Mapping[str, str]] | None = None,
        propose_isr: Callable[[Partition, PendingIsr], None] | None = None,
    ) -> None:
        self.versions = versions
        self.fetcher_kind: type[Fetcher] = SteppedFetcher
        self.max_wait_ms = max_wait_ms
        self.backoff_ms = backoff_ms
        self._directory = directory
        self._settings = settings or {}
        self._runs = runs
        self._topics = topics
        self._propose_isr = propose_isr
        self.brokers: dict[int, ReplicaBroker] = {}
        for broker_id in range(1, count + 1):
            self.start(broker_id)

    def __getitem__(self, broker_id: int) -> ReplicaBroker:
        return self.brokers[broker_id]

    def start(self, broker_id: int) -> ReplicaBroker:
        """Start a broker, also after `stop`; it hosts nothing until it gets LeaderAndIsr."""
        directory = self._directory / str(broker_id)
        directory.mkdir(exist_ok=True)
        self.brokers[broker_id] = broker = ReplicaBroker(
            self,
            broker_id,
            directory,
            self._settings,
            runs=self._runs,
            topics=self._topics,
            propose_isr=self._propose_isr,
        )
        return broker

    async def stop(self, broker_id: int) -> None:
        broker = self.brokers.pop(broker_id)
        await broker.changes.checkpoint_high_watermarks()
        broker.close()

    async def restart(self, broker_id: int) -> ReplicaBroker:
        await self.stop(broker_id)
        broker = self.start(broker_id)
        await broker.changes.load_high_watermarks()
        return broker

    async def order(
        self,
        leader: int,
        leader_epoch: int,
        *,
        isr: tuple[int, ...] | None = None,
        replicas: tuple[int, ...] | None = None,
        to: tuple[int, ...] | None = None,
        topic_partition: TopicPartition = TP,
        is_new: bool = True,
        topic_id: UUID | None = TOPIC_ID,
    ) -> None:
        """Send LeaderAndIsr to the running brokers or to some of them, first to the leader."""
        everyone = tuple(sorted(self.brokers))
        told = everyone if to is None else to
        for broker_id in sorted(told, key=lambda each: each != leader):
            code = await self.brokers[broker_id].order(
                topic_partition,
                leader=leader,
                leader_epoch=leader_epoch,
                isr=isr or everyone,
                replicas=replicas or everyone,
                is_new=is_new,
                topic_id=topic_id,
            )
            assert code is ErrorCode.NONE

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.close()


def _bytes_of(message: Message, version: int) -> bytes:
    parts: list[Any] = encode_parts(message, version)
    return b"".join(part.read() if hasattr(part, "read") else bytes(part) for part in parts)
