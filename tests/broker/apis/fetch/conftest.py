"""A consumer of a partition that this broker leads."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.in_process.fetching_consumer import Consumer
from support.in_process.replicas import Replicas


@pytest.fixture
async def consumer(tmp_path: Path) -> AsyncIterator[Consumer]:
    replicas = Replicas(tmp_path)
    await replicas.order()
    yield Consumer(replicas)
    replicas.close()
