"""A consumer of some partitions, from their begin on: what it reads must be what everybody reads, for ever."""

import asyncio

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from simulation.client_link import UnansweredError
from simulation.cluster_client import ClusterClient
from simulation.history import Place

__all__ = ["Consumer"]

_FETCH_VERSION = 12
_MAX_WAIT_MS = 500


class Consumer:
    """`positions` are the offsets that it reads next."""

    def __init__(self, client: ClusterClient, places: list[Place]) -> None:
        self._client = client
        self.positions: dict[Place, int] = dict.fromkeys(places, 0)
        self._is_over = False

    def stop(self) -> None:
        self._is_over = True

    async def run(self) -> None:
        client = self._client
        while not self._is_over:
            by_leader: dict[int, list[Place]] = {}
            for place in self.positions:
                leader = client.leaders.get(place, (-1, -1))[0]
                if leader >= 0:
                    by_leader.setdefault(leader, []).append(place)
            results = await asyncio.gather(*(self._fetch(*each) for each in by_leader.items()))
            if sum(map(len, by_leader.values())) < len(self.positions) or not all(results):
                await client.back_off()
                await client.refresh(*dict.fromkeys(topic for topic, _ in self.positions))

    async def _fetch(self, leader: int, places: list[Place]) -> bool:
        """False: somebody else may lead."""
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
            min_bytes=1,
            topics=[FetchTopic(topic=topic, partitions=partitions) for topic, partitions in topics.items()],
        )
        try:
            answer = await self._client.ask(leader, request, _FETCH_VERSION)
        except UnansweredError:
            return False
        is_right = True
        for topic_answer in answer.responses:
            for data in topic_answer.partitions:
                place = (topic_answer.topic, data.partition_index)
                is_right = self._take(place, ErrorCode(data.error_code), data.records, leader) and is_right
        return is_right

    def _take(self, place: Place, code: ErrorCode, records: object, leader: int) -> bool:
        if code is ErrorCode.OFFSET_OUT_OF_RANGE:
            self._client.history.suspicions.append(
                (place, f"{self._client.name} was at offset {self.positions[place]}, which broker {leader} has not")
            )
            self.positions[place] = 0
        if code is not ErrorCode.NONE:
            self._client.history.counts[f"fetch: {code.name}"] += 1
            return False
        for batch in iter_batches(bytes(records or b"")):  # type: ignore[call-overload]
            if batch.is_control:
                continue
            for record in read_records(batch):
                if record.offset >= self.positions[place]:
                    self._client.history.saw(place, record.offset, record.value or b"")
            self.positions[place] = max(self.positions[place], batch.next_offset)
        return True
