"""Runs the blocks of the example in docs/user/pipeline.md."""

import re
import shlex
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from support.processes.broker_process import BrokerProcess
from support.spark.pipeline_commands import run_command

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).resolve().parents[2] / "docs" / "user" / "pipeline.md"
TITLE = "## From a web server's log to charts"
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
PNG = b"\x89PNG\r\n\x1a\n"
LINES = 1200
NOT_A_REQUEST = "server started"
PATHS = ("/", "/search?q=a", "/cart")


def blocks() -> list[tuple[str, str]]:
    """Returns kind and text of each block of the example."""
    section = PAGE.read_text().partition(f"{TITLE}\n")[2].partition("\n## ")[0]
    return [(match["kind"], match["text"]) for match in BLOCK.finditer(section)]


def access_log() -> tuple[str, Counter[str]]:
    """Returns the lines of a day, and the number of failures of each path."""
    lines = []
    failed: Counter[str] = Counter()
    begin = datetime.now(UTC).replace(microsecond=0) - timedelta(days=1)
    for number in range(LINES):
        time = (begin + timedelta(seconds=60 * number)).strftime("%d/%b/%Y:%H:%M:%S %z")
        path, status = PATHS[number % 3], 500 if number % 10 == 0 and number % 3 else 200
        failed[path] += status == 500
        lines.append(f'10.0.0.{number % 7} - - [{time}] "GET {path} HTTP/1.1" {status} {number or "-"} "-" "curl/8"\n')
    lines.insert(LINES // 2, f"{NOT_A_REQUEST}\n")
    return "".join(lines), failed


def run_console(spark: "SparkSession", text: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Runs the commands behind `$` and checks their output against the page. Returns the names of the jobs."""
    jobs = []
    for entry in re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
        command, _, shown = entry.partition("\n")
        program, job, *arguments = shlex.split(command)
        assert program == "pybroker-pipeline"
        capsys.readouterr()
        code = run_command(spark, job, *arguments)
        said = capsys.readouterr()
        assert (code, said.out) == (0, shown), said.err
        jobs.append(job)
        assert re.search(r"\b1 (files|commits|partitions|records|rows)\b", said.err) is None
    return jobs


def test_example_of_the_pipeline_page_runs_unchanged(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text, failed = access_log()
    monkeypatch.chdir(tmp_path)
    Path("access.log").write_text(text)
    # A broker with default settings, which creates topics automatically.
    with BrokerProcess(tmp_path / "broker", {}) as broker:
        (kinds, texts) = zip(*blocks(), strict=True)
        assert kinds == ("python", "console", "python")
        producing, jobs, asking = (
            each.replace("localhost:9092", broker.bootstrap_servers).replace("/lake", str(tmp_path / "lake"))
            for each in texts
        )
        exec(compile(producing, str(PAGE), "exec"), {"__name__": "__main__"})
        assert run_console(spark, jobs, capsys) == ["archive", "compact-archive", "check-archive", "report"]
    exec(compile(asking, str(PAGE), "exec"), {"__name__": "__main__"})
    shown = capsys.readouterr().out
    for path, count in failed.items():
        assert not count or re.search(rf"^\|\s*{re.escape(path)}\s*\|\s*{count}\s*\|$", shown, re.MULTILINE)
    assert NOT_A_REQUEST in shown
    manifest = tmp_path / "lake" / "requests" / "manifest"
    assert len(list(manifest.glob("batch-*.json"))) == 3
    assert len(list(manifest.glob("compaction-*.json"))) >= 1
    page = Path("requests.html").read_text()
    assert f"1 topic, {LINES:,} records" in page
    pictures = sorted(Path("charts").iterdir())
    assert [path.name for path in pictures] == ["keys-requests.png", "rate-requests.png", "size.png"]
    assert all(path.read_bytes().startswith(PNG) for path in pictures)
