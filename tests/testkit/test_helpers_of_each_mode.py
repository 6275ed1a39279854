"""Where the helpers that look into a broker work, and what the others say."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from pybroker.broker.test_kit.act_error import ActError
from pybroker.protocol.errors import PolicyViolationError
from pybroker.testkit.kafka_broker import KafkaBroker
from pybroker.testkit.kafka_cluster import KafkaCluster
from pybroker.testkit.outside_kafka import OutsideKafka
from pybroker.testkit.process_broker import ProcessBroker

SKIPPED = pytest.skip.Exception
REASONS: dict[str, tuple[Any, str]] = {
    "thread": ((LookupError, TimeoutError), "group 'g'"),
    "cluster": (RuntimeError, "needs a single broker: use kafka_broker in place of kafka_cluster"),
    "outside": (SKIPPED, "needs a broker that the test starts, and --kafka names another cluster"),
}
FILE = "records.ndjson"


def use_snapshot(broker: Any) -> None:
    snapshot = broker.snapshot()
    broker.append("later", b"x")
    broker.restore(snapshot)
    assert "later" not in broker.topics()
    assert broker.records("t")


def use_reset(broker: Any) -> None:
    broker.reset()
    assert broker.topics() == []
    broker.append("t", b"x")


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
    "reset": use_reset,
}
NO_GROUP = ("lag", "wait_assigned", "wait_committed")
"""These find no group, because no consumer was there."""
SINGLE = ("snapshot", "reset")
"""A cluster has none of these."""
STARTED = (*SINGLE, "dump")
"""A cluster that the test did not start has none of these."""


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
        for mode in ("thread", "process", "cluster"):
            found[mode].append("t", b"x")
        yield found


@pytest.mark.parametrize("helper", HELPERS)
@pytest.mark.parametrize("mode", ["thread", "process", "cluster", "outside"])
def test_helper_works_or_says_plainly_that_it_cannot(
    brokers: dict[str, Any], mode: str, helper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kind, why = REASONS.get(mode, REASONS["thread"])
    if (mode == "cluster" and helper not in SINGLE) or (mode == "outside" and helper not in STARTED):
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


def test_process_has_faults_and_acts(brokers: dict[str, Any]) -> None:
    process = brokers["process"]
    with process.faults.error("CreateTopics", "POLICY_VIOLATION", topic="forbidden") as fault:
        with pytest.raises(PolicyViolationError):
            process.create_topic("forbidden")
        assert fault.fired == 1
    first, second = process.acts.fence("orders"), process.acts.fence("orders")
    assert second == {**first, "producer_epoch": first["producer_epoch"] + 1}
    with pytest.raises(ValueError, match=r"topic 't' has no cleanup\.policy=compact"):
        process.acts.compact("t")


@pytest.mark.long
def test_fault_on_a_process_stays_over_a_restart_and_ends_with_the_test(brokers: dict[str, Any]) -> None:
    process = brokers["process"]
    fault = process.faults.error("CreateTopics", "POLICY_VIOLATION", topic="forbidden")
    for runs in (1, 2, 3):
        with pytest.raises(PolicyViolationError):
            process.create_topic("forbidden")
        assert fault.fired == runs
        if runs == 1:
            process.restart()
        else:
            process.kill()
            process.start()
    process.acts.disk.full()
    process.end_troubles()
    assert process.faults.all() == []
    process.append("forbidden", b"x")


def test_file_is_loaded_by_a_process_as_by_a_thread(brokers: dict[str, Any], tmp_path: Path) -> None:
    thread, process = brokers["thread"], brokers["process"]
    thread.create_topic("three", 3)
    thread.append("three", b"1", None, "3", key=None, headers=[("h", b"\xff")])
    thread.append("three", b"keyed", key=b"\xff", timestamp_ms=7)
    assert thread.dump(tmp_path / "three", "three") == 4
    assert (thread.load(tmp_path / "three", "loaded"), process.load(tmp_path / "three", "loaded")) == (4, 4)
    assert process.records("loaded") == thread.records("loaded")
    assert process.dump(tmp_path / "loaded", "loaded") == 4
    assert process.load(tmp_path / "loaded") == 4
    assert len(process.records("loaded")) == 8
    (tmp_path / "bad").write_text("no JSON")
    with pytest.raises(ValueError, match="bad:1: "):
        process.load(tmp_path / "bad")


def test_process_whose_metadata_is_elsewhere_has_no_snapshots(tmp_path: Path) -> None:
    place = tmp_path / "metadata.db"
    process = ProcessBroker(tmp_path / "process", {"metadata.store.path": str(place)})
    try:
        with pytest.raises(RuntimeError, match="the broker's metadata is not in its log directory"):
            process.snapshot()
        assert process.is_running
        with pytest.raises(ValueError, match="restore needs what snapshot"):
            process.restore("snapshot")  # type: ignore[arg-type]
    finally:
        process.close()


def test_clock_of_a_process_moves_it_and_stays_moved_over_a_restart(brokers: dict[str, Any]) -> None:
    process = brokers["process"]
    process.append("aged", b"x")
    process.pause()
    with pytest.raises(ActError, match="broker 0 is paused"):
        process.clock.advance(days=8)
    process.resume()
    process.clock.advance(days=8)
    assert process.records("aged") == []
    process.clock.freeze()
    process.end_troubles()
    process.append("aged", b"x", timestamp_ms=process.clock.clock_ms())
    process.stop()
    process.clock.advance(days=8)
    process.start()
    assert process.records("aged") == []


def test_clusters_on_threads_and_no_clusters_outside_have_faults_and_a_clock(brokers: dict[str, Any]) -> None:
    cluster = brokers["cluster"]
    assert cluster.faults.all() == []
    assert cluster.clock
    for name in ("faults", "clock", "acts"):
        with pytest.raises(SKIPPED, match=f"{name} needs a broker that the test starts, and --kafka names another"):
            getattr(brokers["outside"], name)


def test_helpers_tell_of_a_cluster_outside_what_they_tell_inside(brokers: dict[str, Any]) -> None:
    inside, outside = brokers["thread"], brokers["outside"]
    inside.create_topic("both", 2)
    appended = outside.append("both", b"1", "two", None, b"x" * 400_000, b"y" * 400_000, headers=[("h", b"v")])
    appended += outside.append("both", b"keyed", key="k", timestamp_ms=7)
    assert sorted(appended) == inside.records("both") == outside.records("both") == outside.wait_records("both", 6)
    assert outside.records("both", 1) == inside.records("both", 1)
    assert outside.append("made-for-a-producer", "x")[0].offset == 0
    assert "both" in outside.topics()
    consumer = inside.consumer("both", group_id="readers")
    while not consumer.poll(1000):
        pass
    outside.wait_assigned("readers")
    for at in consumer.assignment():
        consumer.seek(at, 1)
    consumer.commit()
    outside.wait_committed("readers", "both", 1, 1)
    assert outside.lag("readers") == inside.lag("readers") == 4
    assert outside.lag("readers", "both") == 4


def test_helpers_of_a_cluster_outside_refuse_what_is_not_there(brokers: dict[str, Any]) -> None:
    outside = brokers["outside"]
    with pytest.raises(LookupError, match="there is no topic 'missing'; topics: "):
        outside.records("missing")
    with pytest.raises(LookupError, match="topic 't' has no partition 7; it has 1"):
        outside.append("t", b"x", partition=7)
    with pytest.raises(TimeoutError, match="topic 'missing' has not 1 records within 0"):
        outside.wait_records("missing", 1, timeout=0.01)
    with pytest.raises(ValueError, match="topic"):
        outside.records(7)
