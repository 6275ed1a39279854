"""Reads the partitions of a member of a consumer group from their leaders."""

from collections.abc import Mapping
from dataclasses import replace

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, PartitionData
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from simulation.checkers.history import Place, Read
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient

__all__ = ["MemberReads"]

_FETCH_VERSION = 12
_MOST_BYTES = 64 * 1024


class MemberReads:
    """Reads for one member. It asks one leader at a time, so that a run with many reads stays short."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client

    async def read(self, positions: Mapping[Place, int]) -> dict[Place, int]:
        """Read from these offsets at one of the leaders. Returns the next offset of each partition that was read."""
        client = self._client
        by_leader: dict[int, list[Place]] = {}
        for place in positions:
            by_leader.setdefault(client.leaders.get(place, (-1, -1))[0], []).append(place)
        unknown = by_leader.pop(-1, [])
        if unknown:
            await client.refresh(*dict.fromkeys(topic for topic, _ in unknown))
        if not by_leader:
            return {}
        leader = client.random.choice(list(by_leader))
        places = by_leader[leader]
        epochs, asked_s = {each: client.known_epoch(leader, each) for each in places}, client.loop.time()
        try:
            answer = await client.ask(leader, self._request(places, positions), _FETCH_VERSION)
        except UnansweredError:
            await client.refresh(*dict.fromkeys(topic for topic, _ in places))
            return {}
        found: dict[Place, int] = {}
        for topic in answer.responses:
            for data in topic.partitions:
                place = topic.topic, data.partition_index
                code = ErrorCode(data.error_code)
                if code is ErrorCode.NONE:
                    found[place] = self._taken(place, positions[place], data, Read(b"", epochs[place], asked_s))
                else:
                    client.failed(f"consumer group: read: {code.name}", leader)
        if len(found) < len(places):
            await client.refresh(*dict.fromkeys(topic for topic, _ in places))
        return found

    def _request(self, places: list[Place], positions: Mapping[Place, int]) -> FetchRequest:
        topics: dict[str, list[FetchPartition]] = {}
        for place in places:
            partition = FetchPartition(
                partition=place[1],
                current_leader_epoch=self._client.leaders[place][1],
                fetch_offset=positions[place],
                partition_max_bytes=_MOST_BYTES,
            )
            topics.setdefault(place[0], []).append(partition)
        listed = [FetchTopic(topic=topic, partitions=partitions) for topic, partitions in topics.items()]
        return FetchRequest(max_wait_ms=0, min_bytes=0, topics=listed)

    def _taken(self, place: Place, position: int, data: PartitionData, asked: Read) -> int:
        """The offset after the records of a response."""
        for batch in iter_batches(bytes(data.records or b"")):  # type: ignore[arg-type]
            for record in read_records(batch):
                if record.offset >= position:
                    self._client.history.saw(place, record.offset, replace(asked, value=record.value or b""))
                    position = record.offset + 1
        return position
