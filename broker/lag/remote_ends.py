"""Asks other leaders where their partitions begin and end (ListOffsets), for groups that read partitions without a
replica here.

**How.** Every 10 s, one request for up to 200 partitions of a leader. A partition is asked for from the first time that
somebody wants its lag until nobody has wanted it for five minutes, so a broker that nobody watches asks nothing.
Answers go into a ring, which tells the age of an offset.
"""

import asyncio
import logging
from collections.abc import Callable

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode
from ...protocol.messages.list_offsets import ListOffsetsResponse
from ...protocol.sentinels import EARLIEST, LATEST
from ..inter_broker.broker_link import Link
from ..inter_broker.links_by_broker import LinksByBroker
from ..inter_broker.remote_end_offsets import in_requests, list_offsets_request
from .end_ring import EndRing
from .partition_ends import PartitionEnd

__all__ = ["RemoteEnds"]

logger = logging.getLogger(__name__)

_INTERVAL_S = 10.0
_FORGOTTEN_S = 300.0
_TIMEOUT_MS = 10_000
_ROUNDS_OF_A_START = 6
"""The log start offset is asked for once a minute."""
_MAX_PARTITIONS = 100_000


class _Remote:
    """The known offsets of one partition that another broker leads."""

    __slots__ = ("ring", "start", "wanted_s")

    def __init__(self, wanted_s: float) -> None:
        self.ring = EndRing()
        self.start: int | None = None
        self.wanted_s = wanted_s


class RemoteEnds:
    """``leader_of``: the id of another live broker that leads the partition, else None. ``link_to``: a link to it.

    ``version``: of ListOffsets, by inter.broker.protocol.version.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        *,
        leader_of: Callable[[TopicPartition], int | None],
        link_to: Callable[[int], Link],
        version: int,
    ) -> None:
        self._loop = loop
        self._leader_of = leader_of
        self._link = LinksByBroker(link_to)
        self._version = version
        self._remotes: dict[TopicPartition, _Remote] = {}
        self._asking: asyncio.Task[None] | None = None
        self._is_closed = False

    def end_of(self, topic_partition: TopicPartition) -> PartitionEnd | None:
        """See `OtherLeaders`."""
        remote = self._remotes.get(topic_partition)
        if remote is None:
            if self._leader_of(topic_partition) is not None and len(self._remotes) < _MAX_PARTITIONS:
                self._remotes[topic_partition] = _Remote(self._loop.time())
                self._start()
            return None
        remote.wanted_s = self._loop.time()
        end = remote.ring.last_end
        return None if end is None else (remote.start, end, None, remote.ring)

    def known_end(self, topic_partition: TopicPartition) -> int | None:
        """See `OtherLeaders`."""
        remote = self._remotes.get(topic_partition)
        return None if remote is None else remote.ring.last_end

    def kill(self) -> None:
        """Ask no more."""
        self._is_closed = True
        if self._asking is not None:
            self._asking.cancel()
        self._link.kill()

    async def close(self) -> None:
        """`kill`, and wait until the connections are closed."""
        self.kill()
        if self._asking is not None:
            await asyncio.gather(self._asking, return_exceptions=True)
        await self._link.close()

    def _start(self) -> None:
        if self._asking is None and not self._is_closed:
            self._asking = self._loop.create_task(self._ask_at_intervals(), name="lag-remote-ends")

    async def _ask_at_intervals(self) -> None:
        round_number = 0
        try:
            await asyncio.sleep(0)  # let the first reader name all its partitions
            while self._remotes:
                await self._ask_all(LATEST)
                if round_number % _ROUNDS_OF_A_START == 0:
                    await self._ask_all(EARLIEST)
                round_number += 1
                await asyncio.sleep(_INTERVAL_S)
                self._forget_unwanted()
        finally:
            self._asking = None

    def _forget_unwanted(self) -> None:
        limit_s = self._loop.time() - _FORGOTTEN_S
        for topic_partition in [each for each, remote in self._remotes.items() if remote.wanted_s < limit_s]:
            del self._remotes[topic_partition]

    async def _ask_all(self, timestamp: int) -> None:
        """Ask each leader, all at the same time; of one leader, one request after the other."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for topic_partition in self._remotes:
            leader = self._leader_of(topic_partition)
            if leader is not None:
                by_leader.setdefault(leader, []).append(topic_partition)
        await asyncio.gather(*(self._ask_leader(leader, asked, timestamp) for leader, asked in by_leader.items()))

    async def _ask_leader(self, leader: int, asked: list[TopicPartition], timestamp: int) -> None:
        link = self._link(leader)
        for some in in_requests(asked):
            try:
                response = await link.ask(list_offsets_request(some, timestamp), self._version, _TIMEOUT_MS)
            except (ConnectionError, TimeoutError) as error:
                logger.debug("broker %d did not tell the ends of its partitions: %s", leader, error)
                return
            self._note(response, timestamp)

    def _note(self, response: ListOffsetsResponse, timestamp: int) -> None:
        now_ms = int(self._loop.time() * 1000)
        for topic in response.topics:
            for found in topic.partitions:
                remote = self._remotes.get(TopicPartition(topic.name, found.partition_index))
                if remote is None or found.error_code != ErrorCode.NONE or found.offset < 0:
                    continue
                if timestamp == EARLIEST:
                    remote.start = found.offset
                else:
                    remote.ring.add(now_ms, found.offset)
