"""A read_committed consumer that keeps what it reads, and the last stable offsets that leaders tell it."""

from collections.abc import Callable

from pybroker.protocol.messages.fetch import PartitionData
from simulation.checkers.history import Place, Read
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.consumer import Consumer, Reading

__all__ = ["CommittedReader"]


class CommittedReader(Consumer):
    """`seen`: offsets and values in the order in which they were read. `starts_of`: how often a broker was started: a
    restarted leader may know a lower high watermark, and so a lower last stable offset.
    """

    def __init__(
        self, client: ClusterClient, places: list[Place], reading: Reading, starts_of: Callable[[int], int]
    ) -> None:
        super().__init__(client, places, reading)
        self.seen: dict[Place, list[tuple[int, bytes]]] = {place: [] for place in places}
        self._starts_of = starts_of
        self._stable_offsets: dict[tuple[Place, int, int, int], int] = {}

    async def _take(self, place: Place, data: PartitionData, broker: int, asked: Read) -> bool:
        if not data.error_code:
            key = place, broker, self._starts_of(broker), asked.known_epoch
            before = self._stable_offsets.get(key, -1)
            if data.last_stable_offset < before:
                self._client.history.violations.append(
                    f"{place}: the last stable offset of broker {broker} goes back from {before} to "
                    f"{data.last_stable_offset}"
                )
            self._stable_offsets[key] = data.last_stable_offset
        return await super()._take(place, data, broker, asked)

    def _saw(self, place: Place, offset: int, read: Read) -> None:
        super()._saw(place, offset, read)
        self.seen[place].append((offset, read.value))
