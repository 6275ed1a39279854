"""Kafka's DumpLogSegments reads the files that this storage writes. Skipped without Java and Kafka's jars."""

from pathlib import Path

import pytest
from pybroker.storage.log_config import LogConfig
from support.clients.tool_server import run_main
from support.logs.compaction import compact_log
from support.logs.log_tool import fill_log
from support.logs.storage_logs import CRASHED, close_cleanly, open_log

CONFIG = LogConfig(segment_bytes=15_000, index_interval_bytes=500)
FAULTS = (
    "isvalid: false",
    "Mismatches in",
    "Found timestamp mismatch",
    "Found out of order",
    "Non-consecutive",
    "exception",
    "Could not",
)


def dump(*arguments: str) -> str:
    finished = run_main("kafka.tools.DumpLogSegments", *arguments)
    output = finished.stdout + finished.stderr
    assert finished.returncode == 0, output
    return output


@pytest.mark.parametrize("stop", ["clean", "recovered", "compacted"])
def test_kafka_dump_log_segments_finds_no_fault_in_our_files(stop: str, tmp_path: Path) -> None:
    log = open_log(tmp_path, CONFIG)
    fill_log(log)
    assert len(log.segments) > 3
    end_offset = log.log_end_offset
    if stop == "recovered":
        log.close_files()
        log = open_log(tmp_path, CONFIG, CRASHED)
    elif stop == "compacted":
        before = log.size_bytes
        compact_log(log)
        assert log.size_bytes < before // 2
    close_cleanly(log)
    paths = sorted(Path(log.directory).iterdir())

    logs = ",".join(str(path) for path in paths if path.suffix == ".log")
    output = dump("--deep-iteration", "--print-data-log", "--files", logs)
    faults = FAULTS if stop != "compacted" else [fault for fault in FAULTS if fault != "Non-consecutive"]
    assert not [fault for fault in faults if fault in output], output[-3000:]
    assert f"offset: {end_offset - 1} " in output

    indexes = [path for path in paths if path.suffix in (".index", ".timeindex")]
    assert any(path.stat().st_size > 40 for path in indexes)
    output = dump("--verify-index-only", "--files", ",".join(map(str, indexes)))
    assert not [fault for fault in FAULTS if fault in output], output[-3000:]
    output = dump("--index-sanity-check", "--files", ",".join(map(str, indexes)))
    assert output.count("passed sanity check") == len(indexes), output[-3000:]

    others = ",".join(str(path) for path in paths if path.suffix in (".txnindex", ".snapshot"))
    output = dump("--files", others)
    assert "producerId: 7" in output
    aborted = log.aborted_transactions(0, end_offset)
    assert output.count("lastStableOffset") == len(aborted) > 5
