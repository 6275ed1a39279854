"""Compares `pybroker log dump` with DumpLogSegments of Kafka 4.2.0 for the records of share groups and their states."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.logs.log_tool import LogTool
from support.processes.java import ROOT, java_command
from support.processes.kafka_versions import libs_of

LOGS = {"--offsets-decoder": "kafka-4.2.0.log", "--share-group-state-decoder": "states-of-kafka-4.2.0.log"}


@pytest.mark.parametrize("decoder", LOGS)
def test_log_dump_decodes_the_records_of_share_groups_like_kafka(
    decoder: str, tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / f"{0:020}.log"
    shutil.copyfile(ROOT / "tests" / "reference" / "share-groups" / LOGS[decoder], path)
    command = java_command("kafka.tools.DumpLogSegments", decoder, "--files", str(path), libs=libs_of("4.2.0"))
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert any('"type"' in line for line in told)
    assert LogTool(capsysbinary)("dump", decoder, path).lines == told
