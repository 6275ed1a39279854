"""A real Prometheus that scrapes brokers, and its tool for checking rules."""

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.error import URLError

import pytest
from support.processes.ports import free_port
from support.time.patience import await_that

__all__ = ["PrometheusProcess", "promtool"]


def tool(name: str) -> str:
    """The path of ``name``; skips the test if it is missing."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"no {name} on PATH")
    return path


def promtool(*arguments: str) -> str:
    """The output of promtool, which must find nothing wrong."""
    done = subprocess.run([tool("promtool"), *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


class PrometheusProcess:
    """Scrapes the targets (``host:port``) each second, with the labels of each added to its series."""

    def __init__(self, directory: Path, targets: Mapping[str, Mapping[str, str]], rules: Sequence[Path] = ()) -> None:
        self.port = free_port()
        self._directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        directory.mkdir(parents=True, exist_ok=True)
        jobs = [{"targets": [target], "labels": dict(labels)} for target, labels in targets.items()]
        configuration = {
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
            "rule_files": [str(path) for path in rules],
            "scrape_configs": [{"job_name": "pybroker", "static_configs": jobs}],
        }
        self._file = directory / "prometheus.yaml"
        self._file.write_text(json.dumps(configuration))  # JSON is YAML too

    def __enter__(self) -> "PrometheusProcess":
        command = [
            tool("prometheus"),
            f"--config.file={self._file}",
            f"--storage.tsdb.path={self._directory / 'data'}",
            f"--web.listen-address=127.0.0.1:{self.port}",
        ]
        with (self._directory / "log").open("wb") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        await_that(self._is_ready, "Prometheus is ready")
        return self

    def __exit__(self, *error: object) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def query(self, expression: str) -> list[tuple[dict[str, str], float]]:
        """The labels and the value of each series that the expression gives now."""
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": expression})
        answer = json.loads(self._get(path))
        assert answer["status"] == "success", answer
        rows: list[dict[str, Any]] = answer["data"]["result"]
        return [(row["metric"], float(row["value"][1])) for row in rows]

    def _is_ready(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._directory / "log").read_text()
        try:
            return bool(self._get("/-/ready"))
        except (URLError, ConnectionError):
            return False

    def _get(self, path: str) -> bytes:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as response:
                text: bytes = response.read()
        except urllib.error.HTTPError as error:
            if error.code == 503:
                return b""
            raise AssertionError(f"{path}: {error.read().decode()}") from error
        return text
