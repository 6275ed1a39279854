"""Gives fuzz tests more time when they are told to send more frames."""

import pytest

SECONDS_FOR_A_START = 300
FRAMES_A_SECOND = 50
"""Seconds that only a hang exceeds, not a slow machine."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seconds = SECONDS_FOR_A_START + config.getoption("--fuzz-frames") // FRAMES_A_SECOND
    for item in items:
        if item.path.parent.name == "fuzz":
            item.add_marker(pytest.mark.timeout(seconds))
