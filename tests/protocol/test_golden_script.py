"""scripts/check-golden: its exit codes and its output."""

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
GOLDEN = ROOT / "tests" / "reference" / "golden"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "scripts" / "check_golden.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("api-12-Heartbeat.jsonl.gz", "record-batches.jsonl.gz", "down-conversion.jsonl.gz"):
        shutil.copy(GOLDEN / name, tmp_path)
    return tmp_path


def test_check_golden_exits_0_and_counts_the_lines_of_a_good_folder(folder: Path) -> None:
    result = run(str(folder))
    assert result.returncode == 0, result.stdout + result.stderr
    count = len(gzip.decompress((folder / "api-12-Heartbeat.jsonl.gz").read_bytes()).splitlines())
    assert f"api-12-Heartbeat.jsonl.gz: {count} checked" in result.stdout
    assert "all well" in result.stdout


def test_check_golden_exits_1_and_names_a_wrong_frame(folder: Path) -> None:
    path = folder / "api-12-Heartbeat.jsonl.gz"
    lines = [json.loads(text) for text in gzip.decompress(path.read_bytes()).splitlines()]
    wrong = next(line for line in lines if line["variant"] == "typical")
    wrong["value"]["generationId"] = 4711
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, lines)).encode()))
    result = run(str(folder))
    assert result.returncode == 1
    assert f"Heartbeat request v{wrong['version']} typical" in result.stdout


def test_check_golden_exits_1_for_a_damaged_file(folder: Path) -> None:
    path = folder / "api-12-Heartbeat.jsonl.gz"
    path.write_bytes(path.read_bytes()[:-20])
    assert run(str(folder)).returncode == 1


@pytest.mark.parametrize("arguments", [["/nonexistent"], ["a", "b"], ["--what"]])
def test_check_golden_exits_2_for_bad_usage(arguments: list[str]) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stderr


def test_check_golden_exits_2_for_a_folder_without_golden_files(tmp_path: Path) -> None:
    assert run(str(tmp_path)).returncode == 2
