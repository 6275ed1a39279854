"""Where the helpers that look into a broker work, and what the others say."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pybroker.testkit.kafka_broker import KafkaBroker
from pybroker.testkit.kafka_cluster import KafkaCluster
from pybroker.testkit.outside_kafka import OutsideKafka, ProcessBroker

SKIPPED = pytest.skip.Exception
REASONS: dict[str, tuple[Any, str]] = {
    "thread": ((LookupError, TimeoutError), "group 'g'"),
    "process": (RuntimeError, "needs a broker in this process: not with mode='process'"),
    "cluster": (RuntimeError, "needs a single broker: use kafka_broker in place of kafka_cluster"),
    "outside": (SKIPPED, "needs a broker that the test starts, and --kafka names another cluster"),
}
FILE = "records.ndjson"


def use_snapshot(broker: Any) -> object:
    snapshot = broker.snapshot()
    return broker.restore(snapshot)


def use_dump(broker: Any) -> object:
    assert broker.dump(FILE) > 0
    return broker.load(FILE)


HELPERS: dict[str, Callable[[Any], object]] = {
    "append": lambda broker: broker.append("t", b"x"),
    "records": lambda broker: broker.records("t"),
    "wait_records": lambda broker: broker.wait_records("t", 1),
    "lag": lambda broker: broker.lag("g"),
    "wait_assigned": lambda broker: broker.wait_assigned("g", 0, timeout=0.001),
    "wait_committed": lambda broker: broker.wait_committed("g", "t", 0, 0, timeout=0.001),
    "dump": use_dump,
    "snapshot": use_snapshot,
    "reset": lambda broker: broker.reset(),
}
NO_GROUP = ("lag", "wait_assigned", "wait_committed")
"""These find no group, because no consumer was there."""
SINGLE = ("snapshot", "reset")
"""A cluster has none of these."""


@pytest.fixture(scope="module")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    with ExitStack() as stack:
        found: dict[str, Any] = {"thread": KafkaBroker({})}
        stack.callback(found["thread"].close)
        found["outside"] = OutsideKafka(found["thread"].bootstrap_servers)
        found["process"] = ProcessBroker(tmp_path_factory.mktemp("process"), {})
        stack.callback(found["process"].close)
        found["cluster"] = KafkaCluster(1, {}, "thread")
        stack.callback(found["cluster"].close)
        for mode in ("thread", "cluster"):
            found[mode].append("t", b"x")
        yield found


@pytest.mark.parametrize("helper", HELPERS)
@pytest.mark.parametrize("mode", ["thread", "process", "cluster", "outside"])
def test_helper_works_or_says_plainly_that_it_cannot(
    brokers: dict[str, Any], mode: str, helper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, why = REASONS[mode]
    if mode == "cluster" and helper not in SINGLE:
        kind, why = REASONS["thread"]
    if why == REASONS["thread"][1] and helper not in NO_GROUP:
        HELPERS[helper](brokers[mode])
        return
    with pytest.raises(kind) as raised:
        HELPERS[helper](brokers[mode])
    if why == REASONS["thread"][1]:
        assert why in str(raised.value)
    else:
        assert str(raised.value) == f"{helper} {why}"


def test_faults_and_clock_need_threads(brokers: dict[str, Any]) -> None:
    cluster = brokers["cluster"]
    assert cluster.faults.all() == []
    assert cluster.clock
    for name in ("faults", "clock", "acts"):
        with pytest.raises(RuntimeError, match="not with mode='process'"):
            getattr(brokers["process"], name)
        with pytest.raises(SKIPPED, match=f"{name} needs a broker that the test starts, and --kafka names another"):
            getattr(brokers["outside"], name)
