"""The segments written by real brokers read batch by batch as in Kafka's own dump."""

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pybroker.protocol.records.batch import iter_batches
from support.golden_records import check_batch, check_rewriting
from support.record_bytes import valid_bytes

LOG_DIRECTORIES = sorted((Path(__file__).parents[2] / "reference" / "logdirs").iterdir())


def dumped_batches(directory: Path) -> dict[str, list[dict[str, Any]]]:
    """Return the dumped batches by segment file, in order."""
    batches: dict[str, list[dict[str, Any]]] = defaultdict(list)
    with gzip.open(directory / "batches.jsonl.gz", "rt") as file:
        for line in file:
            batch = json.loads(line)
            batches[batch["file"]].append(batch)
    return batches


@pytest.mark.parametrize("directory", LOG_DIRECTORIES, ids=lambda directory: str(directory.name))
def test_every_segment_reads_as_in_kafkas_dump(directory: Path) -> None:
    dumped = dumped_batches(directory)
    segments = sorted((directory / "data").glob("*/*.log"))
    assert len(segments) >= len(dumped) > 0
    complaints = []
    for segment in segments:
        name = f"{segment.parent.name}/{segment.name}"
        data = segment.read_bytes()
        batches = list(iter_batches(data))
        assert valid_bytes(data) == len(data)
        assert len(batches) == len(dumped[name]), name
        for batch, expected in zip(batches, dumped[name], strict=True):
            where = f"{name} at {batch.position}"
            complaints += check_batch(where, batch, expected) + check_rewriting(where, batch)
    assert complaints == []
