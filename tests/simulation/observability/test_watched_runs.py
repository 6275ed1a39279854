"""Tests that brokers tell the truth about themselves while faults happen and afterwards, and that lies are noticed."""

from collections import Counter
from collections.abc import Iterable
from typing import Any
from unittest.mock import patch

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.health import safe_to_stop
from pybroker.broker.health.safe_to_stop import why_unsafe
from pybroker.broker.lag.partition_ends import PartitionEnd, PartitionEnds
from simulation.observability.watched_run import run_watched
from simulation.runs.shortening import useful_lines

SEEDS = (3, 6)


@pytest.mark.parametrize("seeds", [SEEDS, pytest.param(range(1, 61), marks=pytest.mark.long)], ids=["few", "many"])
def test_lags_probes_and_metrics_are_true_in_a_simulated_cluster(seeds: Iterable[int]) -> None:
    counts: Counter[str] = Counter()
    for seed in seeds:
        result = run_watched(seed)
        assert result.violation is None, "\n".join((f"seed {seed}", result.violation or "", *useful_lines(result)))
        counts += result.counts
    for expected in ("lags above 0", "lags in seconds", "safe_to_stop 503", "safe_to_stop 200", "scrapes"):
        assert counts[f"watched: {expected}"] > 20, expected


def _up_to_the_log_end(ends: PartitionEnds, topic_partition: TopicPartition) -> PartitionEnd | None:
    """A mistake: records that are not committed count as lag."""
    hosted = ends._partitions.get(topic_partition)
    if hosted is None:
        return None
    return (hosted.log.view.log_start_offset, hosted.log.log_end_offset, hosted.log, None)


def _unsafe_with_three(state: Any, broker_id: int, min_isr: int, is_alive: Any) -> str | None:
    """A mistake: a partition suffers although enough replicas are left."""
    return why_unsafe(state, broker_id, min_isr + 2, is_alive)


MISTAKES: dict[str, tuple[Any, str]] = {
    "lag counts up to the log end": (
        patch.object(PartitionEnds, "of", _up_to_the_log_end),
        "is not the lag of a group",
    ),
    "spare replicas do not count": (
        patch.object(safe_to_stop, "why_unsafe", _unsafe_with_three),
        "is not safe to stop",
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_is_noticed(mistake: str) -> None:
    patched, words = MISTAKES[mistake]
    with patched:
        assert any(words in (run_watched(seed).violation or "") for seed in (*SEEDS, 1, 2))


@pytest.mark.long
def test_run_of_a_seed_is_always_the_same() -> None:
    assert run_watched(SEEDS[1]).digest == run_watched(SEEDS[1]).digest
