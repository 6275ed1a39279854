"""Time limits and temporary directories for the crash tests."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

SECONDS_FOR_A_START = 300
SECONDS_FOR_A_ROUND = 60
"""Seconds that only a hang exceeds, not a slow machine."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seconds = SECONDS_FOR_A_START + SECONDS_FOR_A_ROUND * config.getoption("--kill-rounds")
    for item in items:
        if item.path.parent.name == "crash":
            item.add_marker(pytest.mark.timeout(seconds))


@pytest.fixture(params=[pytest.param(1, marks=pytest.mark.long), 3], ids=lambda step: f"step {step}")
def step(request: pytest.FixtureRequest) -> int:
    """Returns the distance between the operations that the test lets fail."""
    return int(request.param)


@pytest.fixture
def quick_disk() -> Iterator[Path]:
    """A directory in memory if the machine has one."""
    memory = "/dev/shm"
    root = tempfile.mkdtemp(prefix="crash-", dir=memory if os.access(memory, os.W_OK) else None)
    yield Path(root)
    shutil.rmtree(root, ignore_errors=True)
