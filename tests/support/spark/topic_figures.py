"""Example figures of the job `report`, which include all values that are hard to draw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["STEPS", "topic_figures"]

NOON_MS = 1_700_000_000_000
STEP_MS = 600_000
STEPS = 40


_TOPICS = {"clicks": 12, "orders": 1, "a-topic-with-a-long-name." * 9: 1}
"""Two topics and one with a name of maximum length."""


def topic_figures(names: Mapping[str, int] = _TOPICS) -> dict[str, Any]:
    """Returns figures of topics with so many partitions; keys of all kinds."""
    volumes = [
        {
            "topic": topic,
            "partition": partition,
            "rows": 1000 * (partition + 1),
            "key_bytes": 9000,
            "value_bytes": 10**7,
        }
        | {"keyless": 3, "tombstones": 1, "first_offset": 0, "last_offset": 10**12, "first_ms": NOON_MS}
        | {"last_ms": NOON_MS + STEPS * STEP_MS}
        for topic, partitions in names.items()
        for partition in range(partitions)
    ]
    keys = ["k" * 300, "<b>&amp;</b>", "ключ", "鍵", "\\x00\\xff", "line\nbreak"]
    return {
        "volumes": volumes,
        "stepMs": STEP_MS,
        "rates": [
            {"topic": topic, "ms": NOON_MS + step * STEP_MS, "rows": step * step, "bytes": step * 1000}
            for topic in names
            for step in range(STEPS)
            if topic != "orders" or step % 7 == 0
        ],
        "sizes": [{"topic": topic, "median": 10, "p90": 10**6, "p99": 10**9, "largest": None} for topic in names],
        "keys": [{"topic": topic, "keys": 10, "repeated_keys": 3, "repeats": 10**9} for topic in names],
        "busiestKeys": [
            {"topic": "clicks", "rank": rank, "key": key, "rows": 10**6 - rank, "share": 0.01}
            for rank, key in enumerate(keys)
        ],
        "disorder": [
            {"topic": each["topic"], "partition": each["partition"], "late": 3, "most_behind_ms": 61_000, "future": 0}
            for each in volumes
        ],
        "lateMs": 60_000,
        "compression": [{"topic": topic, "record_bytes": 300, "file_bytes": 100, "gain": 3.0} for topic in names],
    }
