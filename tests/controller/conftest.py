"""Fixtures of the metadata store's suite and of a control plane; asserts of the suite explain themselves as those of
test files do.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.in_process.control_plane import ControlPlane

pytest.register_assert_rewrite("support.in_process.metadata_store_suite")

from support.in_process.metadata_store_suite import store  # noqa: E402

__all__ = ["plane", "store"]


@pytest.fixture
async def plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """Three brokers, a topic of two partitions that brokers 2 and 3 hold; 2 leads the first, 3 the second."""
    started = await ControlPlane.start(tmp_path / "metadata.db", (1, 2, 3))
    await started.create_topic("t", {0: (2, 3), 1: (3, 2)})
    await started.settled()
    yield started
    await started.stop()
