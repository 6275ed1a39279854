"""A consumer of some partitions that checks that all reads of an offset return the same record.

It behaves like Kafka's Java consumer. It reads from the follower that the leader names for its rack (KIP-392). After
a new leader epoch it asks whether the log still reaches its position (KIP-320). With read_committed it skips aborted
records listed in fetch responses.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.control import decode_marker
from pybroker.protocol.records.record import read_records
from simulation.checkers.history import Acknowledged, Place, Read
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient

__all__ = ["AbortedTransactions", "Consumer", "Reading"]

_FETCH_VERSION = 12
_LIST_OFFSETS_VERSION = 6
_EPOCH_VERSION = 4
_MAX_WAIT_MS = 500
_EARLIEST = -2
_METADATA_MAX_AGE_S = 10.0
"""Kafka's metadata.max.age.ms (5 minutes there). Also the time for which a follower is read without asking the
leader again.
"""


@dataclass(frozen=True)
class Reading:
    """How a consumer reads. ``committed_end``: the offset up to which a partition is known to be committed by now."""

    committed_end: Callable[[Place], int]
    read_committed: bool = False
    rack: str = ""
    min_bytes: int = 1


class Consumer:
    """Reads partitions from their start. `positions`: the next offset to read, by partition."""

    def __init__(self, client: ClusterClient, places: list[Place], reading: Reading) -> None:
        self._client = client
        self.reading = reading
        self.positions: dict[Place, int] = dict.fromkeys(places, 0)
        self._fetched_epochs: dict[Place, int] = {}
        """The leader epoch of the last batch read, by partition."""
        self._checked_epochs: dict[Place, int] = {}
        """The epoch of the leader that last confirmed the position, by partition."""
        self._last_read: dict[Place, Read] = {}
        self._nearest: dict[Place, int] = {}
        """The follower that a partition is read from instead of its leader."""
        self._is_over = False

    def stop(self) -> None:
        self._is_over = True

    async def run(self) -> None:
        client = self._client
        refreshed_s = client.loop.time()
        while not self._is_over:
            if client.loop.time() - refreshed_s > _METADATA_MAX_AGE_S:
                refreshed_s = client.loop.time()
                self._nearest.clear()
                await client.refresh(*dict.fromkeys(topic for topic, _ in self.positions))
            by_broker: dict[int, list[Place]] = {}
            for place in self.positions:
                leader, epoch = client.leaders.get(place, (-1, -1))
                if leader >= 0 and await self._is_in_log(place, leader, epoch):
                    by_broker.setdefault(self._nearest.get(place, leader), []).append(place)
            results = await asyncio.gather(*(self._fetch(*each) for each in by_broker.items()))
            if sum(map(len, by_broker.values())) < len(self.positions) or not all(results):
                await client.back_off()
                await client.refresh(*dict.fromkeys(topic for topic, _ in self.positions))

    # --- validation of the position (KIP-320)

    async def _is_in_log(self, place: Place, leader: int, epoch: int) -> bool:
        """Whether the leader confirmed that the position is in its log; False: not known yet."""
        fetched = self._fetched_epochs.get(place, -1)
        if fetched < 0 or self._checked_epochs.get(place) == epoch:
            return True
        partition = OffsetForLeaderPartition(partition=place[1], current_leader_epoch=epoch, leader_epoch=fetched)
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=place[0], partitions=[partition])])
        try:
            answer = await self._client.ask(leader, request, _EPOCH_VERSION)
        except UnansweredError:
            return False
        told = answer.topics[0].partitions[0]
        if told.error_code:
            self._client.failed(f"epoch: {ErrorCode(told.error_code).name}", leader)
            return False
        self._client.history.counts["fetch: epochs compared"] += 1
        if told.leader_epoch != fetched or told.end_offset < self.positions[place]:
            self._suspect(
                place,
                f"was at offset {self.positions[place]} of epoch {fetched}, which ends at {told.end_offset} "
                f"({told.leader_epoch}) says broker {leader}",
            )
            self.positions[place] = min(self.positions[place], max(told.end_offset, 0))
            # Kafka's Java consumer takes its new epoch from this, and asks the next leader about it.
            self._fetched_epochs[place] = told.leader_epoch
        self._checked_epochs[place] = epoch
        return True

    def _suspect(self, place: Place, what: str) -> None:
        """Report a violation unless the last record read may have been lost."""
        read = self._last_read.get(place, Read(b"", -1, -1.0))
        lost = Acknowledged(read.known_epoch, self.positions[place] - 1, read.read_s)
        self._client.history.suspect(place, f"{self._client.name} {what}", lost)

    # --- fetching

    async def _fetch(self, broker: int, places: list[Place]) -> bool:
        """Returns False if another broker may lead."""
        topics: dict[str, list[FetchPartition]] = {}
        for topic, partition in places:
            topics.setdefault(topic, []).append(
                FetchPartition(
                    partition=partition,
                    current_leader_epoch=self._client.leaders[topic, partition][1],
                    fetch_offset=self.positions[topic, partition],
                    partition_max_bytes=64 * 1024,
                )
            )
        request = FetchRequest(
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=self.reading.min_bytes,
            isolation_level=int(self.reading.read_committed),
            rack_id=self.reading.rack,
            topics=[FetchTopic(topic=topic, partitions=partitions) for topic, partitions in topics.items()],
        )
        asked_s, known_epochs = (
            self._client.loop.time(),
            {each: self._client.known_epoch(broker, each) for each in places},
        )
        try:
            answer = await self._client.ask(broker, request, _FETCH_VERSION)
        except UnansweredError:
            for place in places:
                self._nearest.pop(place, None)
            return False
        is_right = True
        for topic_answer in answer.responses:
            for data in topic_answer.partitions:
                place = (topic_answer.topic, data.partition_index)
                asked = Read(b"", known_epochs[place], asked_s)
                is_right = await self._take(place, data, broker, asked) and is_right
        return is_right

    async def _take(self, place: Place, data: PartitionData, broker: int, asked: Read) -> bool:
        code = ErrorCode(data.error_code)
        is_near = self._nearest.get(place) == broker
        if code is not ErrorCode.NONE:
            self._client.failed(f"fetch: {code.name}", broker)
            self._nearest.pop(place, None)
            if code is ErrorCode.OFFSET_OUT_OF_RANGE and not is_near:
                await self._begin_anew(place, broker)
            return False
        if data.preferred_read_replica >= 0:
            self._client.history.counts["fetch: sent to a near follower"] += 1
            self._nearest[place] = data.preferred_read_replica
            return True
        end = data.last_stable_offset if self.reading.read_committed else data.high_watermark
        aborted = AbortedTransactions(data)
        for batch in iter_batches(bytes(data.records or b"")):  # type: ignore[arg-type]
            committed_end = self.reading.committed_end(place)
            if batch.next_offset > min(end, committed_end):
                self._client.history.violations.append(
                    f"{place}: {self._client.name} reads up to {batch.next_offset} at broker {broker}, where it may "
                    f"see what is before {end}; what is before {committed_end} is committed"
                )
            # A follower may know the new leader before it truncates its log.
            epoch = min(asked.known_epoch, batch.partition_leader_epoch) if is_near else asked.known_epoch
            self._last_read[place] = replace(asked, known_epoch=epoch)
            if not batch.is_control and not (self.reading.read_committed and aborted.has(batch)):
                for record in read_records(batch):
                    if record.offset >= self.positions[place]:
                        self._saw(place, record.offset, replace(self._last_read[place], value=record.value or b""))
            aborted.passed(batch)
            self.positions[place] = max(self.positions[place], batch.next_offset)
            self._fetched_epochs[place] = batch.partition_leader_epoch
            self._checked_epochs.setdefault(place, self._client.leaders[place][1])
        self._client.history.counts["fetch: from a near follower"] += is_near
        return True

    def _saw(self, place: Place, offset: int, read: Read) -> None:
        history, value = self._client.history, read.value
        history.saw(place, offset, read)
        transaction = history.transactions.get(value)
        if not self.reading.read_committed or transaction is None:
            return
        transaction.read.setdefault(self._client.name, {})[value] = None
        if not transaction.is_committed:  # or its end is lost, and the next end stands for both
            told = (
                f"{self._client.name} read {value.decode()} at offset {offset}, of a transaction that is not committed"
            )
            history.suspect(place, told, transaction.ends.get(place))

    async def _begin_anew(self, place: Place, leader: int) -> None:
        """Reset the position, because its records were deleted or the log ends before it."""
        request = ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsTopic(
                    name=place[0],
                    partitions=[ListOffsetsPartition(partition_index=place[1], timestamp=_EARLIEST)],
                )
            ],
        )
        try:
            answer = await self._client.ask(leader, request, _LIST_OFFSETS_VERSION)
        except UnansweredError:
            return
        told = answer.topics[0].partitions[0]
        if told.error_code:
            return
        if told.offset <= self.positions[place] or not self._client.history.may_be_trimmed(place, told.offset):
            self._suspect(place, f"was at offset {self.positions[place]}, broker {leader} begins at {told.offset}")
        self._client.history.counts["fetch: begun anew behind what was deleted"] += 1
        self.positions[place] = told.offset
        self._fetched_epochs.pop(place, None)


class AbortedTransactions:
    """Follows the aborted transactions of a fetch response batch by batch."""

    def __init__(self, data: PartitionData) -> None:
        self._coming = sorted((each.first_offset, each.producer_id) for each in data.aborted_transactions or ())
        self._producers: set[int] = set()

    def has(self, batch: RecordBatch) -> bool:
        while self._coming and self._coming[0][0] < batch.next_offset:
            self._producers.add(self._coming.pop(0)[1])
        return batch.is_transactional and batch.producer_id in self._producers

    def passed(self, batch: RecordBatch) -> None:
        if batch.is_control:
            self.has(batch)
            markers = [decode_marker(record) for record in read_records(batch)]
            if any(marker is not None and not marker.is_commit for marker in markers):
                self._producers.discard(batch.producer_id)
