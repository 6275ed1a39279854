"""Measures the walks over records alone, as found on Python's path: `python -m benchmarks.record_walks` prints JSON.

`scripts/bench --only "walks over records"` runs it twice, with the plain and with the compiled modules.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.compaction_walk import note_keys, spans_to_keep
from pybroker.protocol.records.record import Record, build_batch
from pybroker.protocol.records.walk import walk_records
from support.compiled_package import build_compiled, missing_for_compiling

from benchmarks.contestants import Contestant
from benchmarks.scenarios import Scenario

__all__ = ["WALKS"]

_RECORDS_A_BATCH = 200
_BATCHES = 1000
_TURNS = 5
_LAST_DELTA = _RECORDS_A_BATCH - 1


def payloads() -> list[bytes]:
    """Batches of records of 100 bytes; a tenth of their keys are distinct."""
    chance = random.Random(1)
    value = chance.randbytes(80)
    distinct = _RECORDS_A_BATCH * _BATCHES // 10
    return [
        bytes(
            RecordBatch(
                build_batch(
                    [
                        Record(number, 1_700_000_000_000 + number, b"key-%08d" % chance.randrange(distinct), value)
                        for number in range(_RECORDS_A_BATCH)
                    ]
                ),
                0,
            ).payload()
        )
        for _ in range(_BATCHES)
    ]


def millions_a_second(walk: Callable[[], object]) -> float:
    """Returns millions of records a second of CPU time: the best of several runs, because the machine may be busy."""
    best = float("inf")
    for _ in range(_TURNS):
        started = time.process_time()
        walk()
        best = min(best, time.process_time() - started)
    return _RECORDS_A_BATCH * _BATCHES / best / 1e6


def measured() -> dict[str, float]:
    batches = [(payload, number * _RECORDS_A_BATCH) for number, payload in enumerate(payloads())]
    offsets: dict[bytes, int] = {}

    def note() -> None:
        offsets.clear()
        for payload, base in batches:
            note_keys(payload, _RECORDS_A_BATCH, base, 0, 1 << 40, offsets)

    def choose() -> None:
        for payload, base in batches:
            spans_to_keep(payload, _RECORDS_A_BATCH, base, 1 << 40, offsets, drop_tombstones=False)

    def read() -> None:
        for payload, base in batches:
            for _ in walk_records(payload, _RECORDS_A_BATCH, base, _LAST_DELTA, 0, -1, None):
                pass

    return {
        "compaction notes keys, M records/s": millions_a_second(note),
        "compaction chooses, M records/s": millions_a_second(choose),
        "records are made, M records/s": millions_a_second(read),
    }


def measured_with(*first_on_path: str) -> dict[str, float]:
    path = os.pathsep.join((*first_on_path, os.environ.get("PYTHONPATH", "")))
    command = [sys.executable, "-m", "benchmarks.record_walks"]
    done = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def walks(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Measures plain and compiled walks. There is no equivalent of Kafka to compare with."""
    figures = {"pybroker": measured_with()}
    if missing_for_compiling() is None:
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            figures["compiled"] = measured_with(str(build_compiled(Path(directory))))
    return figures


WALKS = (Scenario("storage: walks over records alone", (), walks),)


if __name__ == "__main__":
    print(json.dumps(measured()))
