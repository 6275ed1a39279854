"""Rows of Spark's Kafka source, and of ours, as JSON can say them: to compare those of one Spark with another's.

Imports neither pybroker nor a client of Kafka: the PySpark of Spark's own connector has an environment of its own.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, NamedTuple

__all__ = ["PlainRow", "content", "plain_rows", "text"]

Headers = tuple[tuple[str, str | None], ...]


class PlainRow(NamedTuple):
    """Time in microseconds, its type as Spark numbers them, contents in base 64. `headers` is None where Spark's are
    null, or where nobody asked for them."""

    topic: str
    partition: int
    offset: int
    timestamp_us: int
    timestamp_type: int
    key: str | None
    value: str | None
    headers: Headers | None


def plain_rows(frame: Any) -> list[PlainRow]:
    """Of a DataFrame with the columns of a Kafka source, by topic, partition and offset."""
    # Microseconds by Spark: Python has times in the time zone of this machine.
    rows = frame.selectExpr("*", "unix_micros(timestamp) as us").collect()
    return sorted((_plain(row) for row in rows), key=lambda row: row[:3])


def _plain(row: Any) -> PlainRow:
    headers = row.asDict().get("headers")
    return PlainRow(
        row["topic"],
        row["partition"],
        row["offset"],
        row["us"],
        row["timestampType"],
        text(row["key"]),
        text(row["value"]),
        None if headers is None else tuple((pair["key"], text(pair["value"])) for pair in headers),
    )


def text(content: bytes | bytearray | None) -> str | None:
    return None if content is None else b64encode(content).decode()


def content(text: str | None) -> bytes | None:
    return None if text is None else b64decode(text)
