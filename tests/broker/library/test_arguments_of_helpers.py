"""Wrong arguments of the helpers for tests are refused with one plain line, and unknown topics are not created."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pybroker import Broker
from pybroker.broker.clock.wall_clock import duration_ms
from pybroker.broker.faults.faults import Faults
from pybroker.broker.faults.words import WordError
from pybroker.broker.library.broker import BlockingBroker

NO_NUMBERS: tuple[Any, ...] = ("1", None, 1.5, True, -1, 10**5000, [])
NO_SECONDS: tuple[Any, ...] = ("1", None, True, -1, float("nan"), float("inf"), 10**5000)
NO_TEXTS: tuple[Any, ...] = (None, 5, b"t", "\ud800", [])
NO_DATA: tuple[Any, ...] = (5, 1.5, [], {}, "\ud800", object())
NO_DURATIONS: tuple[Any, ...] = ("1", None, True, float("nan"), float("inf"), -1, 10**5000)
NO_HEADERS: tuple[Any, ...] = (5, "ab", [5], [("a",)], [(b"a", b"b")], [("a", 5)], [("\ud800", b"")])

CALLS: dict[str, tuple[tuple[Any, ...], Callable[[BlockingBroker, Any], object]]] = {
    "append value": (NO_DATA, lambda broker, bad: broker.append("t", bad)),
    "append key": (NO_DATA, lambda broker, bad: broker.append("t", b"x", key=bad)),
    "append topic": (NO_TEXTS, lambda broker, bad: broker.append(bad, b"x")),
    "append partition": ((*NO_NUMBERS[:1], *NO_NUMBERS[2:]), lambda broker, bad: broker.append("t", partition=bad)),
    "append headers": (NO_HEADERS, lambda broker, bad: broker.append("t", b"x", headers=bad)),
    "append time": (("1", -1, 1.5, True), lambda broker, bad: broker.append("t", b"x", timestamp_ms=bad)),
    "records": (NO_TEXTS, lambda broker, bad: broker.records(bad)),
    "wait_records topic": (NO_TEXTS, lambda broker, bad: broker.wait_records(bad, 1, timeout=0)),
    "wait_records count": (NO_NUMBERS, lambda broker, bad: broker.wait_records("t", bad, timeout=0)),
    "wait_records timeout": (NO_SECONDS, lambda broker, bad: broker.wait_records("t", 1, timeout=bad)),
    "wait_assigned group": (NO_TEXTS, lambda broker, bad: broker.wait_assigned(bad, timeout=0)),
    "wait_assigned members": (NO_NUMBERS, lambda broker, bad: broker.wait_assigned("g", bad, timeout=0)),
    "wait_committed offset": (NO_NUMBERS, lambda broker, bad: broker.wait_committed("g", "t", 0, bad, timeout=0)),
    "wait_committed partition": (NO_NUMBERS, lambda broker, bad: broker.wait_committed("g", "t", bad, 1, timeout=0)),
    "lag": (NO_TEXTS, lambda broker, bad: broker.lag(bad)),
    "restore": ((None, "x", Path("/")), lambda broker, bad: broker.restore(bad)),
    "load topic": (NO_TEXTS[1:], lambda broker, bad: broker.load("no file", bad)),
}


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker({"auto.create.topics.enable": "false"}) as running:
        running.create_topic("orders")
        yield running


def refusal(call: Callable[[], object]) -> str:
    with pytest.raises(ValueError, match=r"\w+") as raised:
        call()
    assert type(raised.value) in (ValueError, WordError)
    return str(raised.value)


@pytest.mark.parametrize("call", CALLS)
def test_wrong_argument_is_refused_with_one_plain_line(broker: BlockingBroker, call: str) -> None:
    values, act = CALLS[call]
    for value in values:
        text = refusal(lambda value=value: act(broker, value))  # type: ignore[misc]
        assert len(text) < 150
        assert text.isprintable(), text
        assert "object has no" not in text
    assert broker.topics() == ["orders"]


def test_wrong_duration_is_named_with_its_unit() -> None:
    for value in NO_DURATIONS:
        given: dict[str, Any] = {"days": 0, "hours": value, "minutes": 0, "seconds": 0, "ms": 0}
        assert "hours" in refusal(lambda given=given: duration_ms(**given))  # type: ignore[misc]
    text = refusal(lambda: duration_ms(days=-1, hours=3, minutes=0, seconds=0, ms=0))
    assert text == "a clock moves ahead only, not by -1 days and 3 hours"


def test_wait_for_a_fault_refuses_wrong_counts_and_times() -> None:
    fault = Faults().hang("Fetch")
    for count in NO_NUMBERS:
        assert "count is a whole number from 0" in refusal(lambda count=count: fault.wait_fired(count))  # type: ignore[misc]
    for time_s in NO_SECONDS:
        if time_s is not None:
            assert "timeout_s is a number" in refusal(lambda time_s=time_s: fault.wait_fired(1, time_s))  # type: ignore[misc]
    fault.wait_fired(0, 0)


@pytest.mark.parametrize("name", ["append", "load"])
def test_mistyped_topic_is_not_created_where_producers_create_none(
    broker: BlockingBroker, tmp_path: Path, name: str
) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"topic": "order", "value": "x"}\n')
    acts: dict[str, Callable[[], object]] = {
        "append": lambda: broker.append("order", b"x"),
        "load": lambda: broker.load(file),
    }
    with pytest.raises(LookupError) as raised:
        acts[name]()
    why = "there is no topic 'order', and auto.create.topics.enable is false; did you mean 'orders'?"
    assert raised.value.args == (why,)
    assert broker.topics() == ["orders"]


@pytest.mark.parametrize(
    ("record", "why"),
    [
        ({"timestamp": 1}, "there is no key 'timestamp'; did you mean timestamp_ms?"),
        ({"value_encoding": "base64"}, "there is no key 'value_encoding'; did you mean value_base64?"),
        ({"x": 1}, "there is no key 'x'; there are topic, partition, offset"),
        ({"headers": [{"name": "a", "value": "b", "vlaue": "c"}]}, "there is no key 'vlaue' of a header; did you mean"),
    ],
)
def test_key_of_another_name_is_refused_with_its_line(
    broker: BlockingBroker, tmp_path: Path, record: dict[str, object], why: str
) -> None:
    file = tmp_path / "x.jsonl"
    good = {"topic": "orders", "value": "x"}
    file.write_text(f"{json.dumps(good)}\n\n{json.dumps({**good, **record})}\n")
    assert refusal(lambda: broker.load(file)).startswith(f"{file}:3: {why}")
    assert broker.records("orders") == []
