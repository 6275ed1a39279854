"""`pybroker topics` against a broker in this process."""

from collections.abc import Iterator
from typing import Any

import pytest
from pybroker import Broker
from pybroker.cli.topics.shapes import PartitionOffsets, TopicChange, TopicDescription, Truncation
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message
from support.clients.commands import checked_json, run
from support.clients.lying_broker import LyingBroker, lying_broker
from support.clients.produced import KEEPS_OLD_RECORDS, numbered, produce


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker({"broker.id": "3", **KEEPS_OLD_RECORDS}) as broker:
        yield broker.bootstrap_servers


def test_topic_gets_and_loses_settings(servers: str) -> None:
    run(servers, "topics", "create", "settings", "-p", "1", "-c", "retention.ms=1000", "--wait")
    changed = run(servers, "topics", "alter", "settings", "-c", "retention.ms-", "-c", "cleanup.policy=compact")
    assert changed.out == "TOPIC     CHANGE\nsettings  changed\n"
    (described,) = checked_json(servers, TopicDescription, "topics", "describe", "settings")
    assert described["settings"] == [{"name": "cleanup.policy", "value": "compact", "is_default": False}]
    assert described["min_isr"] == 1


def test_dry_run_of_alter_and_grow_changes_nothing(servers: str) -> None:
    run(servers, "topics", "create", "dry", "-p", "1")
    before = run(servers, "topics", "describe", "dry").out
    for change in (["alter", "dry", "-c", "retention.ms=5"], ["grow", "dry", "-p", "4"], ["empty", "dry"]):
        assert run(servers, "topics", *change, "--dry-run").code == 0
    assert run(servers, "topics", "describe", "dry").out == before


def test_failures_of_some_topics_do_not_hide_the_others(servers: str) -> None:
    run(servers, "topics", "create", "small", "-p", "1")
    run(servers, "topics", "create", "large", "-p", "4")
    grown = run(servers, "topics", "grow", "small", "large", "-p", "3")
    assert "small" in grown.out
    assert "large" in grown.err
    assert grown.code == 1


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["alter", "missing", "-c", "retention.ms=1"], 3, "does not exist"),
        (["alter", "missing"], 2, "nothing to change"),
        (["alter", "missing", "-c", "a-", "-c", "a=1"], 2, "at once"),
        (["grow", "missing", "-p", "0"], 2, "at least 1"),
        (["offsets", "missing", "--at", "noon"], 2, "must be a time"),
        (["copy", "missing", "new"], 2, "--configs-only"),
    ],
)
def test_refusals_are_one_line_with_an_exit_code(servers: str, arguments: list[str], code: int, words: str) -> None:
    ran = run(servers, "topics", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert words in ran.err


def test_truncate_and_empty_delete_the_oldest_records(servers: str) -> None:
    run(servers, "topics", "create", "records", "-p", "2", "--wait")
    produce(servers, numbered("records", [1], 10))
    (planned,) = checked_json(servers, Truncation, "topics", "truncate", "records:1", "--before", "4", "--dry-run")
    assert planned["new_start"] == 4
    refused = run(servers, "topics", "truncate", "records", "--before", "11", "-y")
    assert (refused.code, refused.out, refused.err.count("\n")) == (1, "", 2)
    assert "records-1: offset 11 is above the end, 10" in refused.err
    partly = run(servers, "topics", "truncate", "records", "--before", "4", "-y")
    assert partly.out.splitlines()[1].split() == ["records", "1", "0", "4", "4"]
    assert (partly.code, "records-0: offset 4 is above the end, 0" in partly.err) == (1, True)
    offsets = checked_json(servers, PartitionOffsets, "topics", "offsets", "records", "--at", "2001-01-01")
    assert [(row["start"], row["end"], row["at"]) for row in offsets] == [(0, 0, None), (4, 10, 4)]
    assert run(servers, "topics", "empty", "records", "-y").code == 0
    (emptied,) = checked_json(servers, PartitionOffsets, "topics", "offsets", "records:1")
    assert (emptied["start"], emptied["end"]) == (10, 10)


def test_deleting_records_needs_a_terminal_or_yes(servers: str) -> None:
    run(servers, "topics", "create", "kept", "-p", "1", "--wait")
    produce(servers, numbered("kept", [0], 1))
    assert run(servers, "topics", "empty", "kept").code == 2
    (kept,) = checked_json(servers, PartitionOffsets, "topics", "offsets", "kept")
    assert (kept["start"], kept["end"]) == (0, 1)


def test_copy_has_the_settings_and_partitions_of_the_topic(servers: str) -> None:
    run(servers, "topics", "create", "original", "-p", "3", "-c", "segment.bytes=2000000")
    (change,) = checked_json(servers, TopicChange, "topics", "copy", "original", "copied", "--configs-only")
    assert change == {"topic": "copied", "change": "created", "is_dry_run": False}
    first, second = checked_json(servers, TopicDescription, "topics", "describe", "original", "copied")
    assert second["settings"] == first["settings"]
    assert len(second["partitions"]) == 3


def test_list_finds_topics_by_min_isr(servers: str) -> None:
    run(servers, "topics", "create", "at-min", "-p", "1")
    run(servers, "topics", "create", "under-min", "-p", "1", "-c", "min.insync.replicas=2")
    assert "under-min" not in run(servers, "topics", "list", "--at-min-isr", "-o", "name").out
    assert run(servers, "topics", "list", "--under-min-isr", "-o", "name").out == "under-min\n"


class StartedBroker(LyingBroker):
    """The broker of a cluster that has no controller yet when it is asked for the first three times."""

    asked = 0

    def _response(self, key: ApiKey, request: Message, version: int) -> Message:
        answer: Any = super()._response(key, request, version)
        if key is ApiKey.METADATA:
            self.asked += 1
            answer.controller_id = 0 if self.asked > 3 else -1
        return answer  # type: ignore[no-any-return]


def test_change_waits_for_the_controller_of_a_cluster_that_has_just_started() -> None:
    with lying_broker("orders", kind=StartedBroker) as servers:
        ran = run(servers, "topics", "create", "orders")
        assert (ran.code, ran.err) == (0, "")


def test_change_in_a_cluster_without_a_controller_ends_after_the_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(StartedBroker, "asked", -1000)
    with lying_broker("orders", kind=StartedBroker) as servers:
        ran = run(servers, "topics", "create", "orders", "--timeout", "0.3")
    assert (ran.code, ran.err) == (1, "pybroker: the cluster has no controller (NOT_CONTROLLER)\n")
