"""A test that is told to do more rounds may take longer."""

import pytest

SECONDS_FOR_A_START = 300
SECONDS_FOR_A_ROUND = 60
"""Of a hang, not of a slow machine."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    seconds = SECONDS_FOR_A_START + SECONDS_FOR_A_ROUND * config.getoption("--kill-rounds")
    for item in items:
        if item.path.parent.name == "crash":
            item.add_marker(pytest.mark.timeout(seconds))
