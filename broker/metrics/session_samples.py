"""Samples of the session with ZooKeeper. A broker with an embedded store has none."""

from collections.abc import Callable

from ...controller.tree.metadata_store import SessionEvent
from ...controller.tree.renewing_store import RenewingStore
from .durations import add_durations
from .registry import Registry
from .series.table import series_named

__all__ = ["add_session_samples"]


def add_session_samples(registry: Registry, store: RenewingStore, now_s: Callable[[], float]) -> None:
    events = store.events
    numbers: dict[str, Callable[[], float]] = {
        "zookeeperdisconnects_total": lambda: events[SessionEvent.DISCONNECTED],
        "zookeeperexpires_total": lambda: events[SessionEvent.EXPIRED],
        "zookeepersyncconnects_total": lambda: 1 + events[SessionEvent.CONNECTED] + events[SessionEvent.RENEWED],
    }
    for name, number in numbers.items():
        registry.add_value(series_named(f"kafka_server_sessionexpirelistener_{name}"), number)
    add_durations(registry, "kafka_server_zookeeperclientmetrics_zookeeperrequestlatencyms", store.times, now_s)
