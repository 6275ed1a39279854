"""What the logs of table formats say about a data file: its columns, and its topic and day."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

PARTITION_FIELDS = (pa.field("topic", pa.string()), pa.field("date", pa.date32()))


def table_columns(path: Path) -> pa.Schema:
    """Returns the columns of a data file and those that its directory names. Raises OSError."""
    return pa.schema([*parquet.read_schema(path), *PARTITION_FIELDS])


def topic_and_date(path: str) -> tuple[str, str]:
    """Returns the values in <table>/topic=…/date=…/<file>"""
    _, topic, date, _ = path.split("/")
    return topic.removeprefix("topic="), date.removeprefix("date=")
