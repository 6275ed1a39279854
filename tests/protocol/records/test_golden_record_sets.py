"""Every record set written by Apache Kafka's own classes is read and written as they did."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from support.golden_records import check_down_conversion, check_record_batches

GOLDEN = Path(__file__).parents[2] / "reference" / "golden"

Line = dict[str, Any]


def lines(name: str) -> list[Line]:
    with gzip.open(GOLDEN / f"{name}.jsonl.gz", "rt") as file:
        return [json.loads(line) for line in file]


RECORD_BATCHES = lines("record-batches")
DOWN_CONVERSIONS = lines("down-conversion")


def test_golden_files_have_the_expected_contents() -> None:
    assert len(RECORD_BATCHES) >= 204
    assert len(DOWN_CONVERSIONS) >= 48


@pytest.mark.parametrize("line", RECORD_BATCHES, ids=lambda line: str(line["name"]))
def test_record_set_is_read_and_written_as_kafka_does(line: Line) -> None:
    assert check_record_batches(line) == []


@pytest.mark.parametrize("line", DOWN_CONVERSIONS, ids=lambda line: str(line["name"]))
def test_record_set_is_converted_down_as_kafka_does(line: Line) -> None:
    assert check_down_conversion(line) == []


@pytest.mark.parametrize(
    ("field", "value"),
    [("validBytes", 1), ("producerId", 5), ("crc", 0), ("lastOffset", 7), ("isValid", False), ("records", [])],
)
def test_golden_check_reports_a_field_that_differs(field: str, value: object) -> None:
    line = json.loads(json.dumps(next(line for line in RECORD_BATCHES if line["name"] == "v2-gzip-random-0")))
    if field == "validBytes":
        line[field] = value
    else:
        line["batches"][0][field] = value
    assert check_record_batches(line) != []
