"""A reader of the lags of share groups waits for a limited time, also behind other readers."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from pybroker.broker.coordinator.group.share.share_group import ShareGroup
from pybroker.broker.v1 import share_lags
from pybroker.broker.v1.share_lags import ShareLags

READERS = 10


async def test_readers_wait_at_the_same_time_for_coordinators_that_do_not_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(share_lags, "_LIMIT_S", 0.05)
    monkeypatch.setattr(share_lags, "_MOST_GROUPS", 1)
    groups = {f"g{number}": ShareGroup(f"g{number}") for number in range(READERS)}
    asked: list[str] = []
    offsets = SimpleNamespace(describe=lambda group_id, topics, limit_s, done: asked.append(group_id))
    coordinators: Any = SimpleNamespace(
        groups=SimpleNamespace(registry=groups, share_offsets=offsets), share=SimpleNamespace()
    )
    lags = ShareLags(coordinators)
    await asyncio.gather(*(lags.refresh(groups.values()) for _ in range(READERS)))
    assert len(asked) < READERS / 2, "one after another, each reader would have asked"
    assert lags.of("g0") == ()
