"""``explain retention``: the rules, and records with old and future timestamps in a broker."""

import time
from dataclasses import replace
from typing import Any

import pytest
from pybroker.cli.explain.retention_rules import explained_retention
from pybroker.cli.explain.shapes import RetentionExplanation, RetentionPartition
from support.clients.commands import rows_of, run
from support.clients.produced import START_MS, Produced, produce

DAY_MS = 86_400_000
GOOD = RetentionPartition(partition=0, start_offset=5, end_offset=9, expired_records=0, future_offset=None, size=100)


@pytest.mark.parametrize(
    ("policy", "kept_ms", "kept_bytes", "changes", "kinds", "text"),
    [
        ("delete", DAY_MS, -1, {}, [], "t keeps 1 d and any size"),
        ("delete", DAY_MS, 2048, {}, [], "t keeps 1 d and 2.0 KiB a partition"),
        ("delete", -1, -1, {"expired_records": None, "future_offset": 7}, [], "t keeps all records for ever"),
        (
            "compact",
            DAY_MS,
            -1,
            {"expired_records": 2},
            ["not_yet_compacted"],
            "t keeps the newest record of each key for ever",
        ),
        ("delete", DAY_MS, -1, {"expired_records": 1}, ["shared_segment"], "yet 1 offset is older"),
        ("delete", DAY_MS, -1, {"expired_records": 3}, ["shared_segment"], "yet 3 offsets are older"),
        ("delete", DAY_MS, -1, {"future_offset": 7, "expired_records": 2}, ["timestamp_in_future"], "yet 2 offsets"),
        ("delete", -1, 0, {"size": 1001}, ["above_size"], "t keeps any time and 0 B a partition"),
        ("delete", -1, 0, {"size": 1000}, ["whole_segments"], "t keeps any time"),
        ("delete", -1, 100, {"size": 100}, [], "t keeps any time"),
        ("compact,delete", -1, 0, {"size": 9}, ["not_yet_compacted", "whole_segments"], "t keeps any time"),
        ("delete", -1, -1, {"start_offset": 9}, ["deleted_in_segment"], "t keeps all records for ever"),
        ("delete", -1, -1, {"start_offset": 9, "size": 0}, [], "t keeps all records for ever"),
    ],
)
def test_retention_is_explained_by_settings_and_offsets(
    policy: str, kept_ms: int, kept_bytes: int, changes: dict[str, Any], kinds: list[str], text: str
) -> None:
    view = explained_retention("t", policy, kept_ms, kept_bytes, 1000, [replace(GOOD, **changes)])
    assert [each.kind for each in view.findings] == kinds
    assert text in view.text
    assert view.is_healthy == (not {"above_size", "timestamp_in_future"} & set(kinds))


def test_record_with_a_timestamp_in_the_future_is_named(servers: str) -> None:
    run(servers, "topics", "create", "pinned", "-p", "1", "-c", f"retention.ms={7 * DAY_MS}", "--wait")
    healthy = run(servers, "explain", "retention", "pinned")
    assert (healthy.code, healthy.out.splitlines()[0]) == (0, "pinned keeps 7 d and any size")
    ahead = round(time.time() * 1000) + 30 * DAY_MS
    produce(servers, [Produced("pinned", 0, 0, at, None, b"value") for at in (START_MS, START_MS, ahead)])
    ran = run(servers, "explain", "retention", "pinned")
    assert ran.code == 10
    assert ran.out.startswith("pinned keeps 7 d and any size; yet 2 offsets are older\n")
    assert "timestamp in the future at offset 2:" in ran.out
    (row,) = rows_of(run(servers, "explain", "retention", "pinned", "-o", "json").out, RetentionExplanation)
    assert row["partitions"][0]["expired_records"] == row["partitions"][0]["future_offset"] == 2
    assert row["partitions"][0]["size"] > 0


def test_missing_topic_is_not_there(servers: str) -> None:
    assert run(servers, "explain", "retention", "missing").code == 3
