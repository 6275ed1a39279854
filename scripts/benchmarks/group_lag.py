"""A row about the lag of very many groups: `scripts/bench --only "lag of groups"`. In this process, without Kafka."""

import asyncio
import gc
import re
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.base import GroupBase
from pybroker.broker.coordinator.group.offsets import CommitRecord, OffsetAndMetadata
from pybroker.broker.metrics.exposition import TEXT, Exposition
from pybroker.broker.metrics.group_samples import add_group_samples
from pybroker.broker.metrics.registry import Registry
from pybroker.broker.metrics.selection import Selection
from pybroker.broker.metrics.series.table import series_named
from support.in_process.lag_world import LagWorld

from benchmarks.contestants import Contestant
from benchmarks.scenarios import Scenario
from benchmarks.targets import at_most

__all__ = ["GROUP_LAG"]

_GROUPS = 1_000
_PARTITIONS = 100
_BATCHES = 200
_RECORDS_A_BATCH = 16
_ROUNDS = 3
_ALL_BUT_SECONDS = re.compile("(?!kafka_consumergroup_group_lag_seconds).*")


class _Watched:
    """Groups that lag behind in all partitions, and a scrape of their lag in seconds."""

    def __init__(self, root: Path, groups: int) -> None:
        self.world = world = LagWorld(root)
        self.partitions = [TopicPartition("orders", number) for number in range(_PARTITIONS)]
        for each in self.partitions:
            world.host(each)
            for _ in range(_BATCHES):
                world.produce(each, _RECORDS_A_BATCH)
        coordinator = world.groups.parts.registry
        coordinator.memory.max_bytes = 1 << 31
        self.groups = [coordinator.get_or_create(f"group-{number}", 0) for number in range(groups)]
        self._commits = 0
        registry = Registry()
        add_group_samples(registry, world.lags, world.time, "cluster")
        dropped, failed = map(series_named, ("pybroker_metrics_dropped_series", "pybroker_metrics_failed_sources"))
        self._exposition = Exposition(registry, Selection(exclude=_ALL_BUT_SECONDS), dropped, failed)

    def commit(self) -> None:
        """Every group commits a new offset in every partition, five seconds after its last commit."""
        self._commits += 1
        self.world.time.advance(5_000)
        for number, group in enumerate(self.groups):
            self._commit(group, number * _ROUNDS + self._commits)  # no scrape has seen it before

    def _commit(self, group: GroupBase, offset: int) -> None:
        value = OffsetAndMetadata(offset, 0, "", self.world.time.now_ms())
        for each in self.partitions:
            group.offsets.load(each, CommitRecord(self._commits, value))

    async def scrape(self) -> float:
        """Returns the CPU seconds of a scrape. A page that is not in the cache is read for the next scrape."""
        self._drop_lags()
        gc.collect()
        gc.freeze()
        before_s = time.process_time()
        samples = await self._samples()
        used_s = time.process_time() - before_s
        if samples != len(self.groups) * _PARTITIONS:
            await self.world.lags.settled()
            self._drop_lags()
            samples = await self._samples()
        assert samples == len(self.groups) * _PARTITIONS, samples
        return used_s

    def _drop_lags(self) -> None:
        """Drops what the scrape before has computed."""
        self.world.time.advance(1_000_000)

    async def _samples(self) -> int:
        """Scrapes, and returns the number of samples."""
        text = b"".join([piece async for piece in self._exposition.text(TEXT)])
        return text.count(b"\nkafka_consumergroup_group_lag_seconds")


async def _measure(root: Path, groups: int) -> dict[str, float]:
    watched = _Watched(root, groups)
    for _ in range(4):
        watched.commit()
    moved, still = [], []
    for _ in range(_ROUNDS):
        watched.commit()
        moved.append(await watched.scrape())
        still.append(await watched.scrape())
    return {"CPU s, nothing moved": min(still), "CPU s, all moved": min(moved)}


def lag_of_groups(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        return {"pybroker": asyncio.run(_measure(Path(directory), max(int(_GROUPS * scale), 1)))}


GROUP_LAG = (
    Scenario(
        "metrics: lag of groups (1,000 × 100 partitions, in seconds, a scrape)",
        (at_most("CPU s, nothing moved", 0.5), at_most("CPU s, all moved", 1.5)),
        lag_of_groups,
    ),
)
