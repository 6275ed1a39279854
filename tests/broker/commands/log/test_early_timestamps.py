"""``pybroker log verify`` accepts records from before 1970, for example with the zero time of Go."""

from pathlib import Path

import pytest
from pybroker.protocol.records.record import Record, build_batch
from support.logs.log_tool import LogTool
from support.logs.storage_logs import NOW_MS, append_as_leader, close_cleanly, open_log

GO_ZERO_TIME_MS = -62_135_596_800_000


@pytest.mark.parametrize("greatest", [GO_ZERO_TIME_MS, -1], ids=["as clients compute it", "as Kafka stores it"])
def test_verify_accepts_batches_from_before_1970(greatest: int, tmp_path: Path, log_tool: LogTool) -> None:
    log = open_log(tmp_path, now_ms=NOW_MS)
    records = [Record(number, GO_ZERO_TIME_MS - number, b"key", b"value") for number in range(3)]
    append_as_leader(log, bytearray(build_batch(records, max_timestamp_ms=greatest)), 0, NOW_MS)
    close_cleanly(log, NOW_MS)
    (tmp_path / ".kafka_cleanshutdown").touch()
    ran = log_tool("verify", log.directory)
    assert ran.exit_code == 0, ran.lines
