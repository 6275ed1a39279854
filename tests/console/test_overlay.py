"""Documents of pybrokers fill the fields that Kafka's protocol leaves null."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pybroker.console.cluster_views.overlay import (
    clients_of_all,
    cluster_told_by_all,
    events_by_kind,
    overlaid,
    overlaid_cluster,
)

FIELDS = ("size_bytes", "rebalances", "max_lag", "max_lag_seconds", "state", "other")
values = st.none() | st.integers(0, 9)
rows = st.dictionaries(st.sampled_from(FIELDS), values)


@given(rows, st.lists(rows, max_size=4))
def test_null_fields_are_filled_by_the_sum_the_largest_or_the_first_value(
    row: dict[str, Any], others: list[dict[str, Any]]
) -> None:
    filled = overlaid(row, others)
    assert filled.keys() == {name for each in (row, *others) for name in each}
    for name, value in filled.items():
        told = [each[name] for each in others if each.get(name) is not None]
        if row.get(name) is not None:
            assert value == row[name], "Kafka's protocol has the last word"
        elif not told:
            assert value is None
        elif name in ("size_bytes", "rebalances"):
            assert value == sum(told)
        elif name in ("max_lag", "max_lag_seconds"):
            assert value == max(told)
        else:
            assert value == told[0]


def told_history(rate: int) -> dict[str, Any]:
    return {"step_ms": 10, "end_ms": 100, "bytes_in_per_s": [None, float(rate)]}


def told(broker: int, problems: list[dict[str, Any]], full_in_s: float | None = None) -> dict[str, Any]:
    row = {"partitions": 6, "size_bytes": 7, "max_lag_seconds": float(broker)}
    return {
        "source": {"broker_id": broker},
        "loop_idle": 0.5,
        "memory_bytes": 70 * broker,
        "brokers": 2,
        "partitions": 30,
        "groups": 2 + broker,
        "rates": {"bytes_in_per_s": 100.0},
        "disk": {"size_bytes": 10, "free_bytes": None, "total_bytes": 100, "full_in_s": full_in_s},
        "history": None,
        "max_lag_seconds": 5.0 * broker,
        "worst_group": f"group {broker}",
        "produce_times": {"p99_ms": 7.0 / broker},
        "fetch_times": {"p99_ms": 7.0 * broker},
        "top_topics": [
            {"topic": "orders", "rates": {"bytes_in_per_s": 10.0}, "history": told_history(broker), "row": row},
            {"topic": f"topic {broker}", "rates": {"bytes_in_per_s": 15.0}, "history": told_history(broker)},
        ],
        "events": [],
        "verdict": {"status": "healthy", "text": "healthy", "problems": problems},
    }


def test_cluster_needs_no_further_question_when_all_its_brokers_have_told() -> None:
    problem = {"severity": "warning", "kind": "under_replicated", "text": "1 lacks a replica", "count": 1}
    documents = [told(1, [problem], full_in_s=60.0), told(2, [{**problem, "count": 2}])]
    base = cluster_told_by_all(documents)
    assert base is not None
    view = overlaid_cluster(base, documents)
    assert (view["partitions"], view["groups"], view["worst_group"]) == (30, 7, "group 2")
    assert view["rates"] == {"bytes_in_per_s": 200.0}
    assert view["disk"] == {"size_bytes": 20, "free_bytes": None, "total_bytes": 200, "full_in_s": 60.0}
    assert (view["produce_times"], view["fetch_times"]) == ({"p99_ms": 7.0}, {"p99_ms": 14.0})
    assert [(each["topic"], each["rates"]["bytes_in_per_s"]) for each in view["top_topics"]] == [
        ("orders", 20.0),
        ("topic 1", 15.0),
        ("topic 2", 15.0),
    ]
    assert view["top_topics"][0]["history"]["bytes_in_per_s"] == [None, 3.0]
    assert view["top_topics"][0]["row"] == {"partitions": 6, "size_bytes": 14, "max_lag_seconds": 2.0}
    assert [(each["broker_id"], each["memory_bytes"]) for each in view["told_by"]] == [(1, 70), (2, 140)]
    assert (view["verdict"]["status"], [each["count"] for each in view["verdict"]["problems"]]) == ("warning", [2])


def line(event: str | None, text: str, time_ms: int, times: int) -> dict[str, Any]:
    return {"event": event, "logger": "pybroker", "text": text, "time_ms": time_ms, "times": times, "since_ms": 10}


def test_lines_of_one_kind_are_one_event_with_their_number() -> None:
    lines = [
        line("slow-request", "Fetch took 2 s", 90, 200),
        line("isr-shrunk", "orders-4", 80, 1),
        line("slow-request", "Produce took 3 s", 95, 14),
        line(None, "other", 70, 1),
        line(None, "another", 60, 2),
    ]
    shown = [(each["text"], each["times"]) for each in events_by_kind(lines)]
    assert shown == [("Produce took 3 s", 214), ("orders-4", 1), ("other", 1), ("another", 2)]


def test_client_of_several_brokers_is_one_row_with_the_sums() -> None:
    names = {"client_id": "reader", "principal": "User:ana", "software": None, "host": "10.0.0.1"}
    told = [
        {**names, "requests": 3, "bytes_in": 5, "bytes_out": 0, "last_seen_ms": 9},
        {**names, "host": "10.0.0.2", "requests": 1, "bytes_in": 6, "bytes_out": 0, "last_seen_ms": 1},
        {**names, "requests": 4, "bytes_in": 2, "bytes_out": 0, "last_seen_ms": 7},
    ]
    summed = {**names, "requests": 7, "bytes_in": 7, "bytes_out": 0, "last_seen_ms": 9}
    assert clients_of_all(told) == [summed, told[1]]


def test_cluster_must_be_asked_for_when_a_broker_has_not_told() -> None:
    assert cluster_told_by_all([told(1, [])]) is None
    assert cluster_told_by_all([]) is None
