"""Looks at a cluster by what its pybrokers tell under ``/v1``: rates of ten seconds, and lag in seconds.

A broker tells about the partitions that it leads and the groups that it coordinates, so the documents of all brokers
are put together. A document comes from outside, so a value of a wrong type counts as unknown.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..connecting.v1_reader import V1Reader
from .shapes import BusyBroker, BusyGroup, BusyTopic, TopView

__all__ = ["V1Looks", "merged"]

_MOST_TOPICS = 2_000
_TOPICS = f"topics?sort=-messages_in_per_s&limit={_MOST_TOPICS}"
_LARGEST = 1e18
"""A larger number is none that a broker counts to."""


class V1Looks:
    """Takes looks. Topics: the 2,000 busiest of each broker."""

    needs_two = False

    def __init__(self, reader: V1Reader) -> None:
        self._reader = reader

    def view(self) -> TopView:
        """The cluster now. Raises CommandError when no broker answers."""
        problems: list[str] = []
        clusters, brokers, topics, groups = (
            self._reader.of_all(path, problems) for path in ("cluster", "brokers", _TOPICS, "groups")
        )
        return merged(clusters, brokers, topics, groups, tuple(dict.fromkeys(problems)))


def merged(
    clusters: Sequence[Mapping[str, Any]],
    brokers: Sequence[Mapping[str, Any]],
    topics: Sequence[Mapping[str, Any]],
    groups: Sequence[Mapping[str, Any]],
    problems: tuple[str, ...] = (),
) -> TopView:
    """The view of the documents that the brokers gave."""
    rates = {_whole(_part(each, "source").get("broker_id")): _part(each, "rates") for each in clusters}
    told = sorted(broker for broker in rates if broker is not None)
    found = {broker: row for row in _items(brokers) if (broker := _whole(row.get("id"))) is not None}
    return TopView(
        source=f"broker {', '.join(map(str, told))}" if told else "nobody",
        time_ms=round(time.time() * 1000),
        seconds=None,
        brokers=tuple(_broker(broker, row, rates.get(broker, {})) for broker, row in sorted(found.items())),
        topics=tuple(_topic(name, rows) for name, rows in _by_name(topics, "topic")),
        groups=tuple(_group(name, rows[0]) for name, rows in _by_name(groups, "group")),
        problems=problems,
    )


def _broker(broker: int, row: Mapping[str, Any], rates: Mapping[str, Any]) -> BusyBroker:
    endpoints = row.get("endpoints")
    first = endpoints[0] if isinstance(endpoints, list) and endpoints and isinstance(endpoints[0], dict) else None
    return BusyBroker(
        broker=broker,
        address=None if first is None else f"{first.get('host')}:{first.get('port')}",
        is_controller=row.get("is_controller") is True,
        leaders=_whole(row.get("leaders")) or 0,
        records_per_s=_number(rates.get("messages_in_per_s")),
        bytes_in_per_s=_number(rates.get("bytes_in_per_s")),
        bytes_out_per_s=_number(rates.get("bytes_out_per_s")),
        requests_per_s=_number(rates.get("requests_per_s")),
    )


def _topic(name: str, rows: Sequence[Mapping[str, Any]]) -> BusyTopic:
    size = _sum(row.get("size_bytes") for row in rows)
    return BusyTopic(
        topic=name,
        partitions=max(_whole(row.get("partitions")) or 0 for row in rows),
        records_per_s=_sum(row.get("messages_in_per_s") for row in rows),
        bytes_in_per_s=_sum(row.get("bytes_in_per_s") for row in rows),
        bytes_out_per_s=_sum(row.get("bytes_out_per_s") for row in rows),
        size_bytes=None if size is None else round(size),
    )


def _group(name: str, row: Mapping[str, Any]) -> BusyGroup:
    state = row.get("state")
    return BusyGroup(
        group=name,
        state=state if isinstance(state, str) else None,
        members=_whole(row.get("members")),
        lag=_whole(row.get("lag")),
        lag_seconds=_number(row.get("max_lag_seconds")),
        read_per_s=None,
    )


def _by_name(documents: Iterable[Mapping[str, Any]], field: str) -> list[tuple[str, list[Mapping[str, Any]]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for row in _items(documents):
        name = row.get(field)
        if isinstance(name, str):
            found.setdefault(name, []).append(row)
    return sorted(found.items())


def _items(documents: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [
        row
        for document in documents
        if isinstance(items := document.get("items"), list)
        for row in items
        if isinstance(row, dict)
    ]


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = document.get(name)
    return part if isinstance(part, dict) else {}


def _whole(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST else None


def _number(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not abs(value) < _LARGEST:
        return None
    return float(value)


def _sum(values: Iterable[Any]) -> float | None:
    known = [number for value in values if (number := _number(value)) is not None]
    return round(sum(known), 1) if known else None
