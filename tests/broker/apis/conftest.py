"""A broker that is the controller, for the APIs of topics."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.controller.topics.topic_admin import NewTopic
from support.in_process.topic_apis import TopicApis


@pytest.fixture
async def apis(tmp_path: Path) -> AsyncIterator[TopicApis]:
    """One broker, number 1, with a topic of two partitions."""
    started = await TopicApis.start(tmp_path)
    await started.plane.topics.create(NewTopic("t", 2, 1))
    await started.plane.controller.drained()
    yield started
    await started.stop()
