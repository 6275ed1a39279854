"""Rows of Kafka sources as JSON values, so that those of two Spark versions can be compared.

Imports neither pybroker nor a Kafka client, because Spark's own connector runs in an environment without them.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import Any, NamedTuple

__all__ = ["PlainRow", "content", "plain_rows", "text"]

Headers = tuple[tuple[str, str | None], ...]


class PlainRow(NamedTuple):
    """A row: time in microseconds, timestamp type as Spark numbers it, contents in base64. `headers` is None if null or
    not requested.
    """

    topic: str
    partition: int
    offset: int
    timestamp_us: int
    timestamp_type: int
    key: str | None
    value: str | None
    headers: Headers | None


def plain_rows(frame: Any) -> list[PlainRow]:
    """Returns the rows of a DataFrame with the columns of a Kafka source, sorted by topic, partition and offset."""
    # Spark computes microseconds, because Python would use the machine's time zone.
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
