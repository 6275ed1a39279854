"""Reads the counters of traffic and requests once a second, and the size of the logs once a minute."""

import asyncio
import math
from collections import deque
from collections.abc import Callable

from ...replication.partition_set import PartitionSet
from .disk_growth import SAMPLE_INTERVAL_S, DiskGrowth
from .rate_rings import TOPIC_STEP_S, RateRing, TopicRings, Totals
from .slices import in_slices

__all__ = ["TrafficSampler"]

_INTERVAL_S = 1.0
_LONGEST_GAP_S = 60
_REQUEST_SAMPLES = 11


class TrafficSampler:
    """`run` is a task of the broker. ``requests``: how many requests clients and brokers have sent."""

    def __init__(
        self,
        partitions: PartitionSet,
        requests: Callable[[], int],
        loop: asyncio.AbstractEventLoop,
        clock_ms: Callable[[], int],
    ) -> None:
        self._partitions = partitions
        self._count_requests = requests
        self._requests = deque([(loop.time(), requests())], _REQUEST_SAMPLES)
        self._loop = loop
        self._clock_ms = clock_ms
        self.broker = RateRing()
        self.topics = TopicRings()
        self.growth = DiskGrowth()
        self._totals = Totals(0, 0, 0)
        self._sampled_s = self._topics_sampled_s = loop.time()
        self._sizes_sampled_s = -math.inf
        self.end_ms = clock_ms()
        """When the last sample was taken."""

    async def run(self) -> None:
        """Sample until the task is cancelled."""
        next_s = self._loop.time()
        while True:
            next_s = max(next_s + _INTERVAL_S, self._loop.time())
            await asyncio.sleep(next_s - self._loop.time())
            await self.sample()

    async def sample(self) -> None:
        """Add the points of the time since the last call."""
        now_s = self._loop.time()
        self._requests.append((now_s, self._count_requests()))
        with_topics = now_s - self._topics_sampled_s >= TOPIC_STEP_S - _INTERVAL_S / 2
        messages_in = bytes_in = bytes_out = 0
        async for topic, traffic in in_slices(list(self._partitions.traffic.topics.items())):
            messages_in += traffic.messages_in
            bytes_in += traffic.bytes_in
            bytes_out += traffic.bytes_out
            if with_topics:
                totals = Totals(traffic.messages_in, traffic.bytes_in, traffic.bytes_out)
                self.topics.step(topic, totals, now_s - self._topics_sampled_s)
        if with_topics:
            self._topics_sampled_s = now_s
            self.topics.end_step(self._partitions.traffic.topics)
        self._add(Totals(messages_in, bytes_in, bytes_out), now_s)
        if now_s - self._sizes_sampled_s >= SAMPLE_INTERVAL_S:
            self._sizes_sampled_s = now_s
            await self._sample_sizes(now_s)

    def requests_per_s(self) -> float | None:
        """Return the mean of the last ten seconds; None before the first sample."""
        if len(self._requests) < 2:
            return None
        (began_s, before), (ended_s, after) = self._requests[0], self._requests[-1]
        return (after - before) / (ended_s - began_s) if ended_s > began_s else None

    async def _sample_sizes(self, now_s: float) -> None:
        size_bytes = 0
        async for hosted in in_slices(list(self._partitions)):
            size_bytes += hosted.log.size_bytes
        self.growth.add(now_s, size_bytes)

    def _add(self, totals: Totals, now_s: float) -> None:
        before, self._totals = self._totals, totals
        elapsed_s, self._sampled_s = now_s - self._sampled_s, now_s
        self.end_ms = self._clock_ms()
        if elapsed_s <= 0:
            return
        rates = totals.growth_since(before, elapsed_s)
        for _ in range(min(max(round(elapsed_s), 1), _LONGEST_GAP_S)):  # a point for each second, also after a delay
            self.broker.add(rates)
