"""Decodes record batches to columns and back to records, for tests of `pipeline.columns`.

Without pyarrow these tests are skipped.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.record import Record

if TYPE_CHECKING:
    from pybroker.pipeline.columns.batch_decoder import BatchDecoder
    from pybroker.pipeline.columns.row_buffers import Gathered

EVERYTHING = (0, (1 << 63) - 1)


class Rows(NamedTuple):
    """The result of decoding: rows in order, and the sizes of the gathered sets."""

    records: list[Record]
    sizes: list[int]


def need_columns() -> None:
    """Skips the test without the extra "spark", which `scripts/test` installs."""
    pytest.importorskip("pyarrow", reason="the extra 'spark' is not installed: there is no pyarrow")
    pytest.importorskip("numba", reason="the extra 'spark' is not installed: there is no numba")


def decoder(start: int = 0, end: int = EVERYTHING[1], **settings: Any) -> BatchDecoder:
    need_columns()
    from pybroker.pipeline.columns.batch_decoder import BatchDecoder

    return BatchDecoder(start, end, **{"with_headers": True, "check_crcs": True, **settings})


def decoded(batches: Iterable[RecordBatch], start: int = 0, end: int = EVERYTHING[1], **settings: Any) -> Rows:
    """Decodes batches; settings are those of BatchDecoder."""
    decoding = decoder(start, end, **settings)
    gathered = [part for batch in batches for part in decoding.add(batch)]
    gathered += decoding.rest()
    return Rows([record for part in gathered for record in records_of(part)], [part.rows for part in gathered])


def records_of(gathered: Gathered) -> Iterable[Record]:
    """Returns the rows as records, after Arrow has validated its columns."""
    columns = [gathered.key, gathered.value, gathered.offset, gathered.timestamp]
    headers = [None] * gathered.rows if gathered.headers is None else gathered.headers
    for column in (*columns, *([] if gathered.headers is None else [gathered.headers])):
        column.validate(full=True)
    assert sum(gathered.fact_rows) == gathered.rows
    timestamps = gathered.timestamp.cast("int64").to_pylist()
    for key, value, offset, timestamp, pairs in zip(
        gathered.key.to_pylist(),
        gathered.value.to_pylist(),
        gathered.offset.to_pylist(),
        timestamps,
        headers if gathered.headers is None else gathered.headers.to_pylist(),
        strict=True,
    ):
        assert pairs != [], "a record without headers has null"
        yield Record(offset, timestamp // 1000, key, value, tuple((pair["key"], pair["value"]) for pair in pairs or ()))


def golden_records(line: dict[str, Any]) -> list[Record]:
    """Returns the records of a batch from a line of a dump by Apache Kafka's own classes."""

    def content(text: str | None) -> bytes | None:
        return None if text is None else b64decode(text)

    return [
        Record(
            each["offset"],
            each["timestamp"],
            content(each["key"]),
            content(each["value"]),
            tuple((header["key"], content(header["value"])) for header in each.get("headers", ())),
        )
        for each in line["records"]
    ]
