"""Tests of `pybroker-pipeline audit` on real Spark. Its findings are tested in test_audit."""

import json
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pybroker.pipeline.jobs.command import FAILED
from support.logs.kafka_directories import LOGDIRS
from support.logs.log_tool import patch, positions_in
from support.spark.pipeline_commands import run_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KAFKAS = LOGDIRS / "kafka-3.9" / "data"


def test_audit_of_replicas_runs_on_spark(spark: "SparkSession", tmp_path: Path) -> None:
    """This test uses the `spark` fixture first, which skips it without Spark."""
    from pybroker.pipeline.audit.audit import AuditProgress, audit

    told: list[AuditProgress] = []
    found = audit(spark, [str(KAFKAS), str(LOGDIRS / "ibp-2.8" / "data")], told.append)
    assert found.faults == ()
    assert told == sorted(told)
    count = len(found.partitions)
    assert told[-1] == (count, count, found.size_bytes, found.size_bytes)
    assert sum(len(partition.replicas) for partition in found.partitions) == sum(
        1 for name in ("kafka-3.9", "ibp-2.8") for path in (LOGDIRS / name / "data").iterdir() if path.is_dir()
    )
    assert found.groups


def test_audit_command_prints_faults_and_writes_reports(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = Path(shutil.copytree(KAFKAS, tmp_path / "data"))
    log = sorted((data / "golden1-plain-0").glob("*.log"))[0]
    position, batch = positions_in(log)[1]
    patch(log, position + batch.size_bytes - 1, bytes([batch.view()[-1] ^ 1]))
    reports = ["--json", str(tmp_path / "audit.json"), "--html", str(tmp_path / "audit.html")]
    assert run_command(spark, "audit", *reports, str(data)) == FAILED
    said = capsys.readouterr()
    (line,) = said.out.splitlines()
    assert line.startswith(f"{log}: byte {position}: the batch of offset {batch.base_offset} has the checksum")
    report = json.loads((tmp_path / "audit.json").read_text())
    assert (report["sound"], [fault["path"] for fault in report["faults"]]) == (False, [str(log)])
    assert re.search(r"^(\d+) of \1 partitions, ([\d,.]+) of \2 MiB, [\d,.]+ MiB a second$", said.err, re.MULTILINE)
    assert "1 fault found" in (tmp_path / "audit.html").read_text()
