"""The lines of Kafka's ``kafka-consumer-perf-test.sh``: one for the whole run, or one for each interval."""

from datetime import datetime

from ...base.frozen import frozen

__all__ = ["INTERVAL_TITLES", "TITLES", "Counted", "interval_line", "whole_line"]

TITLES = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
INTERVAL_TITLES = (
    "time, threadId, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
_MEGABYTE = 1024 * 1024
_NO_REBALANCE_MS = 0
"""Partitions are read without a group."""
_THREAD = 0


@frozen
class Counted:
    """How much was read until a time, in milliseconds since 1970."""

    time_ms: int
    records: int
    value_bytes: int


def whole_line(start: Counted, end: Counted) -> str:
    """The line of a whole run."""
    return f"{_time(start.time_ms)}, {_time(end.time_ms)}, {_columns(start, start, end)}"


def interval_line(start: Counted, last: Counted, now: Counted) -> str:
    """The line of an interval: amounts since the start, rates since the line before."""
    return f"{_time(now.time_ms)}, {_THREAD}, {_columns(start, last, now)}"


def _columns(start: Counted, last: Counted, now: Counted) -> str:
    """The columns behind the times. The whole time counts as time of fetching."""
    milliseconds = max(now.time_ms - last.time_ms, 1)
    megabytes_rate = f"{_megabytes(last, now) / milliseconds * 1000:.4f}"
    records_rate = f"{(now.records - last.records) / milliseconds * 1000:.4f}"
    amounts = f"{_megabytes(start, now):.4f}, {megabytes_rate}, {now.records - start.records}, {records_rate}"
    return f"{amounts}, {_NO_REBALANCE_MS}, {milliseconds}, {megabytes_rate}, {records_rate}"


def _megabytes(start: Counted, end: Counted) -> float:
    return (end.value_bytes - start.value_bytes) / _MEGABYTE


def _time(time_ms: int) -> str:
    """A local time in the form of Kafka's script."""
    return datetime.fromtimestamp(time_ms // 1000).strftime("%Y-%m-%d %H:%M:%S") + f":{time_ms % 1000:03d}"
