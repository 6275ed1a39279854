"""Runs a program under two hash seeds of Python: what depends on the order of a set differs."""

import os
import subprocess
import sys
from pathlib import Path

__all__ = ["outputs_under_two_hash_seeds"]

_TESTS = Path(__file__).parents[2]


def outputs_under_two_hash_seeds(program: str) -> list[str]:
    """The output of ``program``, which may import from tests/, in a process of its own for each hash seed."""
    path = os.pathsep.join([str(_TESTS), *sys.path])
    return [
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for hash_seed in ("1", "2")
    ]
