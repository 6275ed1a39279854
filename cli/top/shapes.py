"""The JSON that ``pybroker top`` prints."""

from typing import Annotated

from ...base.frozen import frozen

__all__ = ["BusyBroker", "BusyGroup", "BusyTopic", "TopView"]


@frozen(kw_only=True)
class BusyBroker:
    """One broker."""

    broker: int
    address: str | None
    is_controller: bool
    leaders: Annotated[int, "partitions that it leads"]
    records_per_s: Annotated[float | None, "written to the partitions that it leads"]
    bytes_in_per_s: float | None
    bytes_out_per_s: Annotated[float | None, "null without --v1"]
    requests_per_s: Annotated[float | None, "null without --v1"]


@frozen(kw_only=True)
class BusyTopic:
    """One topic."""

    topic: str
    partitions: int
    records_per_s: Annotated[float | None, "null: a partition has no leader, or lost records meanwhile"]
    bytes_in_per_s: Annotated[float | None, "without --v1: growth of the logs; null when they shrank"]
    bytes_out_per_s: Annotated[float | None, "null without --v1"]
    size_bytes: Annotated[int | None, "logs of the leaders; null: not told"]


@frozen(kw_only=True)
class BusyGroup:
    """One group."""

    group: str
    state: str | None
    members: int | None
    lag: Annotated[int | None, "records, of all partitions"]
    lag_seconds: Annotated[float | None, "age of the oldest unread record; null without --v1"]
    read_per_s: Annotated[float | None, "records, by committed offsets; null with --v1"]


@frozen(kw_only=True)
class TopView:
    """A cluster between two looks, or as its brokers tell with --v1."""

    source: Annotated[str, "protocol, or the brokers that told"]
    time_ms: int
    seconds: Annotated[float | None, "between two looks; null with --v1, where rates are of ten seconds"]
    brokers: tuple[BusyBroker, ...]
    topics: tuple[BusyTopic, ...]
    groups: tuple[BusyGroup, ...]
    problems: Annotated[tuple[str, ...], "what could not be asked, and why"]
