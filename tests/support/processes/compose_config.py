"""Reads compose files by compose's own loader, without a container engine."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.clients.foreign_clients import CACHE, bring

__all__ = ["resolved_by_compose"]


def resolved_by_compose(*files: Path, variables: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The project that the files describe together, as `docker compose config` prints it. Skips the test if neither
    docker nor Go is there.
    """
    environment = {**os.environ, **(variables or {})}
    done = subprocess.run(_command(files), env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    resolved: dict[str, Any] = json.loads(done.stdout)
    return resolved


def _command(files: tuple[Path, ...]) -> list[str]:
    asked = ["docker", "compose", "version"]
    if shutil.which("docker") and not subprocess.run(asked, capture_output=True, check=False).returncode:
        named = [word for file in files for word in ("--file", str(file))]
        return ["docker", "compose", *named, "config", "--format", "json"]
    bring("compose")
    return [str(CACHE / "compose-go" / "config"), *map(str, files)]
