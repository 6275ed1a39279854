"""The cluster at a glance: is it healthy, how much traffic has it, and what happened last."""

from typing import Annotated, Literal

from ..base.frozen import frozen
from .events import EventOfKind
from .source import Source
from .topics import TopicRow
from .traffic import History, Rates, Times

__all__ = ["Cluster", "Disk", "Problem", "Severity", "Status", "TopTopic", "Verdict"]

Severity = Literal["warning", "trouble"]
Status = Literal["healthy", "warning", "trouble"]


@frozen(kw_only=True)
class Problem:
    """One problem. The place is that of the first or worst case."""

    severity: Severity
    kind: Annotated[str, "such as offline_partitions, under_replicated, group_stopped"]
    text: Annotated[str, "one line"]
    count: int
    topic: str | None
    partition: int | None
    group: str | None
    broker_id: int | None


@frozen(kw_only=True)
class Verdict:
    """Whether the cluster is healthy, as far as this broker knows."""

    status: Status
    text: Annotated[str, "one line"]
    problems: Annotated[tuple[Problem, ...], "the worst first, at most 20"]


@frozen(kw_only=True)
class Disk:
    """The log directories of this broker together."""

    size_bytes: Annotated[int, "logs"]
    free_bytes: int | None
    total_bytes: int | None
    full_in_s: Annotated[float | None, "at the growth of the last hour; null when it does not grow"]


@frozen(kw_only=True)
class TopTopic:
    """One of the busiest topics on this broker."""

    topic: str
    rates: Rates
    history: History
    row: Annotated[TopicRow, "as in the list of topics"]


@frozen(kw_only=True)
class Cluster:
    """The cluster. Groups, rates, times, disk, topics and events are those of this broker."""

    source: Source
    cluster_id: str
    controller_id: Annotated[int | None, "null: none is known"]
    metadata_store: Literal["embedded", "zookeeper"]
    version: Annotated[str, "of pybroker on this broker"]
    verdict: Verdict
    brokers: int
    topics: int
    partitions: int
    offline_partitions: int
    under_replicated_partitions: int
    under_min_isr_partitions: int
    groups: int
    worst_group: Annotated[str | None, "the group with the most seconds of lag"]
    max_lag_seconds: float | None
    rates: Rates
    produce_times: Times | None
    fetch_times: Times | None
    disk: Disk
    memory_bytes: Annotated[int | None, "resident set of the process; null where the system does not tell it"]
    loop_idle: Annotated[float, "share of time in which the event loop was idle"]
    history: History
    top_topics: Annotated[tuple[TopTopic, ...], "at most 8, by bytes in"]
    events: Annotated[tuple[EventOfKind, ...], "the newest of each kind, at most 10, the newest first"]
