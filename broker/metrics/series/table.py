"""All series by name."""

from collections.abc import Mapping

from . import controller, coordinators, exporter, lag, logs, own, process, replication, requests, topics
from .series import Series

__all__ = ["SECTIONS", "SERIES", "series_named"]

SECTIONS: tuple[tuple[str, tuple[Series, ...]], ...] = (
    ("Topics", topics.SERIES),
    ("Requests and connections", requests.SERIES),
    ("Replication", replication.SERIES),
    ("Logs", logs.SERIES),
    ("Controller and ZooKeeper", controller.SERIES),
    ("Groups", coordinators.SERIES),
    ("kafka_exporter", exporter.SERIES),
    ("kafka-lag-exporter", lag.SERIES),
    ("pybroker's own", own.SERIES),
    ("Process", process.SERIES),
)

SERIES: Mapping[str, Series] = {series.name: series for _, section in SECTIONS for series in section}


def series_named(name: str) -> Series:
    """The row of a series; KeyError if the table has none."""
    return SERIES[name]
