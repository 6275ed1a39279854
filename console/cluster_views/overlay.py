"""Puts what pybrokers tell under /v1 over what Kafka's protocol tells. Pure.

Kafka's protocol decides what is listed, because it knows the rights of the principal. A pybroker fills the fields that
are null, and adds what only it knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_SUMMED = {
    "messages_in_per_s",
    "bytes_in_per_s",
    "bytes_out_per_s",
    "requests_per_s",
    "size_bytes",
    "size_on_disk_bytes",
    "records",
    "rebalances",
    "connections",
    "requests",
    "bytes_in",
    "bytes_out",
    "throttle_ms",
}
_TOP_TOPICS = 8
_EVENTS = 10
_LARGEST = {"max_lag", "max_lag_seconds", "seconds_to_catch_up", "last_commit_ms", "last_seen_ms", "generation"}
_NAMES_OF_CLIENT = ("client_id", "principal", "software", "host")


def overlaid(row: Mapping[str, Any], others: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the row with its null fields filled; sums and largest values are taken over all `others`."""
    result = dict(row)
    filled: set[str] = set()
    for other in others:
        for name, value in other.items():
            if value is None:
                result.setdefault(name, None)
            elif result.get(name) is None:
                result[name] = value
                filled.add(name)
            elif name not in filled:
                continue
            elif name in _SUMMED:
                result[name] += value
            elif name in _LARGEST:
                result[name] = max(result[name], value)
    return result


def overlaid_cluster(view: Mapping[str, Any], documents: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the cluster with rates, lag, events and problems of the brokers that were asked, and the times of the
    slowest of them."""
    if not documents:
        return dict(view)
    result = overlaid(view, documents)
    result["rates"] = overlaid(view["rates"], [each["rates"] for each in documents if each.get("rates")])
    histories = [each["history"] for each in documents if each.get("history")]
    result["history"] = summed_history(histories) or view["history"]
    for name in ("max_lag_seconds", "worst_group"):
        worst = max(documents, key=lambda each: each.get("max_lag_seconds") or -1.0)
        result[name] = worst.get(name) if worst.get(name) is not None else view.get(name)
    for name in ("produce_times", "fetch_times"):
        told = [each[name] for each in documents if each.get(name)]
        result[name] = max(told, key=lambda each: each["p99_ms"] or 0.0) if told else view.get(name)
    result["top_topics"] = busiest_topics([topic for each in documents for topic in each.get("top_topics", ())])
    result["events"] = events_by_kind([event for each in documents for event in each.get("events", ())])
    result["told_by"] = [
        {
            "broker_id": each["source"]["broker_id"],
            **{name: each.get(name) for name in ("loop_idle", "memory_bytes", "disk", "produce_times")},
        }
        for each in documents
        if each.get("source")
    ]
    result["verdict"] = merged_verdict([view["verdict"], *(each["verdict"] for each in documents)])
    return result


def busiest_topics(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns a row for each topic with the sums over the brokers, the busiest first.

    A broker lists its busiest topics only, so the last rows may lack the part of a broker.
    """
    by_topic: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        by_topic.setdefault(row["topic"], []).append(row)
    summed: list[dict[str, Any]] = [
        {
            "topic": topic,
            "rates": overlaid({}, [each["rates"] for each in told]),
            "row": overlaid({}, [each["row"] for each in told if each.get("row")]),
            "history": summed_history([each["history"] for each in told if each.get("history")]),
        }
        for topic, told in by_topic.items()
    ]
    return sorted(summed, key=lambda row: -(row["rates"].get("bytes_in_per_s") or 0.0))[:_TOP_TOPICS]


def events_by_kind(lines: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the newest line of each kind with the number of lines of all brokers, the newest first."""
    kinds: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for line in lines:
        kind = (line["event"],) if line["event"] else (line["logger"], line["text"])
        kinds.setdefault(kind, []).append(line)
    merged = [
        {
            **max(told, key=lambda each: each["time_ms"]),
            "times": sum(each.get("times", 1) for each in told),
            "since_ms": min(each.get("since_ms", each["time_ms"]) for each in told),
        }
        for told in kinds.values()
    ]
    return sorted(merged, key=lambda each: -each["time_ms"])[:_EVENTS]


def clients_of_all(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns a row for each client with the sums over the brokers that it talks to, those with most bytes first."""
    by_client: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for row in rows:
        by_client.setdefault(tuple(row.get(name) for name in _NAMES_OF_CLIENT), []).append(row)
    summed = [overlaid({}, told) for told in by_client.values()]
    return sorted(summed, key=lambda row: -(row.get("bytes_in", 0) + row.get("bytes_out", 0)))


def cluster_told_by_all(documents: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Returns what is to be overlaid when all brokers of a cluster have told of it; None if some have not.

    Each pybroker counts the partitions of the whole cluster, but only its own groups and disks.
    """
    if not documents or len(documents) < documents[0]["brokers"]:
        return None
    disks = [each["disk"] for each in documents]
    full_in_s = [each["full_in_s"] for each in disks if each["full_in_s"] is not None]
    disk = {name: _sum_known(disks, name) for name in ("size_bytes", "free_bytes", "total_bytes")}
    return {
        "verdict": {"status": "healthy", "text": "healthy", "problems": []},
        "groups": sum(each["groups"] for each in documents),
        "rates": {},
        "disk": {**disk, "full_in_s": min(full_in_s, default=None)},
        "history": None,
    }


def _sum_known(rows: Iterable[Mapping[str, Any]], name: str) -> Any:
    known = [row[name] for row in rows if row[name] is not None]
    return sum(known) if known else None


def summed_history(histories: list[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Returns the sum of rates, aligned at their ends; null where no broker has a value."""
    if not histories:
        return None
    last = max(histories, key=lambda each: each["end_ms"])
    result: dict[str, Any] = {"step_ms": last["step_ms"], "end_ms": last["end_ms"]}
    for name in ("messages_in_per_s", "bytes_in_per_s", "bytes_out_per_s"):
        columns = [each.get(name, []) for each in histories if each["step_ms"] == last["step_ms"]]
        length = max(map(len, columns), default=0)
        padded = [[None] * (length - len(column)) + list(column) for column in columns]
        result[name] = [
            sum(known) if (known := [each for each in step if each is not None]) else None
            for step in zip(*padded, strict=True)
        ]
    return result


def merged_verdict(verdicts: list[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns the worst status with the problems of all, each kind and place once."""
    problems: dict[tuple[Any, ...], Any] = {}
    for verdict in verdicts:
        for problem in verdict["problems"]:
            place = tuple(problem.get(name) for name in ("kind", "group", "broker_id"))
            kept = problems.get(place) or problems.get((problem.get("kind"), None, None))
            if kept is None or kept["count"] < problem["count"]:
                problems[place] = problem
    order = {"trouble": 0, "warning": 1}
    found = sorted(problems.values(), key=lambda each: order.get(each["severity"], 2))[:20]
    status = "healthy" if not found else "trouble" if found[0]["severity"] == "trouble" else "warning"
    return {"status": status, "text": ", ".join(each["text"] for each in found[:3]) or "healthy", "problems": found}
