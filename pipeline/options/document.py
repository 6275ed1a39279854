"""Writes the page of options: `python -m pybroker.pipeline.options.document docs/user`."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from .option_table import READING, SECURITY, WRITING, OptionRow

OPTIONS_PAGE = "spark-options.md"
_INTRODUCTION = """\
# From Spark's Kafka connector: the options of the data source

This page is written by `python -m pybroker.pipeline.options.document docs/user`.

A query of Spark's own connector (`spark-sql-kafka-0-10`) becomes one of [pybroker's data source](pipeline.md#topics) by
another format: `.format("pybroker")` for `.format("kafka")`. PySpark refuses two kinds of queries for every source and
sink in Python: the output mode `update`, which can be written in `foreachBatch`, and continuous triggers. Unknown and
contradictory options are errors; options without effect log a warning. In SQL:

```sql
CREATE TEMPORARY VIEW events USING pybroker
OPTIONS (`kafka.bootstrap.servers` 'localhost:9092', subscribe 'events')
```
"""


def options_page() -> str:
    """Returns the text of `docs/user/spark-options.md`."""
    parts = {"Reading": READING, "Writing": WRITING, "Secured connections, reading and writing": SECURITY}
    return "\n".join([_INTRODUCTION, *(f"## {title}\n\n{_table(rows)}" for title, rows in parts.items())])


def _table(rows: Iterable[OptionRow]) -> str:
    lines = ["| Option | pybroker | Spark's connector |", "|---|---|---|"]
    for row in rows:
        names = ", ".join(f"`{name}`" for name in row.names)
        lines.append(f"| {names} | {row.here} | {row.connector} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    (Path(sys.argv[1]) / OPTIONS_PAGE).write_text(options_page(), encoding="utf-8")
