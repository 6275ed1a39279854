"""All fetchers of a broker: assigns each partition to a fetcher (Kafka: ReplicaFetcherManager).

Each leader has up to ``num.replica.fetchers`` fetchers. The name of a partition chooses one of them. A fetcher is made
with its first partition, and ends after the order of the controller that takes its last one.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple, Protocol

from ...base.closing import AsyncClosable
from ...base.minute_rate import MinuteRate
from ...base.topic_partition import TopicPartition
from ...storage.log.log import Log
from ..partition.hosted_partition import HostedPartition
from .fetch_states import FetchState

__all__ = ["FetcherId", "ReplicaFetchers", "fetcher_number"]


class FetcherId(NamedTuple):
    leader_id: int
    number: int


class PartitionFetcher(AsyncClosable, Protocol):
    """The part of `Fetcher` that is used here."""

    rate: MinuteRate

    @property
    def states(self) -> "States": ...
    def start(self) -> None: ...
    def follow(self, hosted: HostedPartition, leader_epoch: int) -> None: ...
    def unfollow(self, topic_partition: TopicPartition) -> bool: ...
    def wake(self) -> None: ...


class States(Protocol):
    @property
    def failed(self) -> dict[TopicPartition, None]: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[tuple[TopicPartition, FetchState]]: ...


class _Followed(NamedTuple):
    hosted: HostedPartition
    leader_id: int
    leader_epoch: int


class ReplicaFetchers:
    """``new_fetcher`` makes a fetcher that does not run yet."""

    def __init__(self, count: int, new_fetcher: Callable[[FetcherId], PartitionFetcher]) -> None:
        self._count = count
        self._new_fetcher = new_fetcher
        self._fetchers: dict[FetcherId, PartitionFetcher] = {}
        self._followed: dict[TopicPartition, _Followed] = {}
        self._is_closed = False
        self._follows_nobody_anew = False

    def __len__(self) -> int:
        return len(self._fetchers)

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        """Whether the partition is fetched."""
        return topic_partition in self._followed

    def get(self, fetcher_id: FetcherId) -> PartitionFetcher | None:
        return self._fetchers.get(fetcher_id)

    def lags(self) -> Iterator[tuple[FetcherId, TopicPartition, int | None]]:
        """By how many records each fetched partition is behind its leader; None: not known yet."""
        for fetcher_id, fetcher in tuple(self._fetchers.items()):
            for topic_partition, state in fetcher.states:
                yield fetcher_id, topic_partition, None if state.lag is None else max(state.lag, 0)

    def min_fetch_rate(self, now_s: float) -> float:
        """The fetches a second of the slowest fetcher, over about the last minute; 0 without fetchers."""
        return min((fetcher.rate.at(now_s) for fetcher in self._fetchers.values()), default=0.0)

    @property
    def failed(self) -> list[TopicPartition]:
        """Partitions that wait for an order of the controller: their leader epoch is over, or their disk fails."""
        return [topic_partition for fetcher in self._fetchers.values() for topic_partition in fetcher.states.failed]

    def follow(self, hosted: HostedPartition, leader_id: int) -> None:
        """Fetch from this leader under the partition's leader epoch; any other fetcher of the partition stops."""
        if self._is_closed:
            return
        topic_partition = hosted.topic_partition
        self.unfollow(topic_partition)
        if self._follows_nobody_anew:
            return
        followed = _Followed(hosted, leader_id, hosted.partition.leader_epoch)
        self._followed[topic_partition] = followed
        fetcher_id = FetcherId(leader_id, fetcher_number(topic_partition, self._count))
        fetcher = self._fetchers.get(fetcher_id)
        if fetcher is None:
            fetcher = self._fetchers[fetcher_id] = self._new_fetcher(fetcher_id)
            fetcher.start()
        fetcher.follow(hosted, followed.leader_epoch)

    def follow_nobody_anew(self) -> None:
        """This broker is about to stop, and other brokers will lead its partitions: do not begin to fetch those.

        A new leader waits with its high watermark for a follower that has caught up and may join the ISR. It would wait
        for this broker until the cluster has noticed the stop. Partitions that are fetched already go on: this broker
        may be in their ISR.
        """
        self._follows_nobody_anew = True

    def unfollow(self, topic_partition: TopicPartition) -> None:
        followed = self._followed.pop(topic_partition, None)
        if followed is not None:
            number = fetcher_number(topic_partition, self._count)
            fetcher = self._fetchers.get(FetcherId(followed.leader_id, number))
            if fetcher is not None:
                fetcher.unfollow(topic_partition)

    def topic_id_assigned(self, topic_partition: TopicPartition) -> None:
        """The topic got an id while the partition was followed (an upgrade of the controller): fetch by id."""
        followed = self._followed.get(topic_partition)
        if followed is not None:
            self.unfollow(topic_partition)
            self._follow_soon(followed)

    def end_idle(self) -> None:
        """End the fetchers without partitions; called after an order of the controller."""
        for fetcher_id, fetcher in tuple(self._fetchers.items()):
            if not len(fetcher.states) and not fetcher.states.failed:
                del self._fetchers[fetcher_id]
                fetcher.kill()

    def resize(self, count: int) -> None:
        """Use that many fetchers for each leader; partitions move to the fetchers that now have their number."""
        if count == self._count:
            return
        followed = tuple(self._followed.values())
        for each in followed:
            self.unfollow(each.hosted.topic_partition)
        self._count = count
        for each in followed:
            self._follow_soon(each)

    def _follow_soon(self, followed: _Followed) -> None:
        """Follow once the log has written the queued appends, so that the other fetcher starts at the log's end."""
        self._followed[followed.hosted.topic_partition] = followed
        followed.hosted.strand.submit(_nothing, partial(self._follow_again, followed))

    def _follow_again(self, followed: _Followed, _: object) -> None:
        if self._followed.get(followed.hosted.topic_partition) is followed:  # no order has come in between
            self.follow(followed.hosted, followed.leader_id)
        self.end_idle()

    def wake(self) -> None:
        """A quota may allow partitions to fetch again."""
        for fetcher in self._fetchers.values():
            fetcher.wake()

    def kill(self) -> None:
        self._is_closed = True
        for fetcher in self._fetchers.values():
            fetcher.kill()

    async def close(self) -> None:
        self.kill()
        for fetcher in self._fetchers.values():
            await fetcher.close()


def _nothing(log: Log) -> None:
    """An empty step: it runs when all steps before it are done."""


def fetcher_number(topic_partition: TopicPartition, count: int) -> int:
    """Kafka's choice, so that loads are spread as in Kafka: 31 × Java's hash of the topic + partition, in 32 bits,
    absolute value."""
    topic_hash = 0
    utf16 = topic_partition.topic.encode("utf-16-be")
    for position in range(0, len(utf16), 2):
        topic_hash = (31 * topic_hash + int.from_bytes(utf16[position : position + 2])) & 0xFFFFFFFF
    number = (31 * topic_hash + topic_partition.partition) & 0xFFFFFFFF
    signed = number - (1 << 32) if number & 0x80000000 else number
    return (0 if signed == -(1 << 31) else abs(signed)) % count
