"""``kafka-dump-log`` reports what Kafka's DumpLogSegments 3.9.1 reported for the same damaged files."""

import struct
from pathlib import Path

import pytest
from pybroker.broker.commands.command_line import main
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.record import Record

NAME = "0" * 20
FAULTS = """\
Mismatches in :<dir>/00000000000000000000.index
  Index offset: 7, log offset: 5
Found timestamp mismatch in :<dir>/00000000000000000000.timeindex
  Index timestamp: 4, log timestamp: 1001
Found out of order timestamp in :<dir>/00000000000000000000.timeindex
  Index timestamp: 4, Previously indexed timestamp: 1500
The following indexed offsets are not found in the log.
Indexed offset: 99, found log offset: -1
"""
GAPS = "Non-consecutive offsets in <dir>/00000000000000000000.log\n  1 is followed by 5\n"


def batch_at(offset: int, *timestamps: int) -> bytes:
    records = [Record(number, timestamp, None, b"v", ()) for number, timestamp in enumerate(timestamps)]
    return struct.pack(">q", offset) + bytes(build_batch(records))[8:]


@pytest.mark.parametrize(
    ("options", "faults"), [([], FAULTS), (["--verify-index-only"], FAULTS), (["--deep-iteration"], FAULTS + GAPS)]
)
def test_faults_of_indexes_and_gaps_are_reported(
    options: list[str], faults: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = batch_at(0, 1000, 1001)
    (tmp_path / f"{NAME}.log").write_bytes(first + batch_at(5, 1500) + batch_at(6, 1000, 1001))
    (tmp_path / f"{NAME}.index").write_bytes(struct.pack(">iiii", 1, 0, 7, len(first)))
    (tmp_path / f"{NAME}.timeindex").write_bytes(struct.pack(">qiqiqiqi", 1001, 1, 1500, 5, 4, 7, 9, 99))
    files = ",".join(str(tmp_path / f"{NAME}.{kind}") for kind in ("log", "index", "timeindex"))
    assert main(["kafka-dump-log", "--files", files, *options]) == 0
    printed = capsys.readouterr()
    assert printed.err.replace(str(tmp_path), "<dir>") == faults
    assert ("offset: 7 position: " in printed.out) == ("--verify-index-only" not in options)
