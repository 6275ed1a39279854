"""Fixtures: tests of the network layer run on both event loops, uvloop (the broker's) and asyncio's own."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping

import pytest
import uvloop
from support.in_process.listener_maker import ListenerMaker


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}


@pytest.fixture
async def new_listeners() -> AsyncIterator[ListenerMaker]:
    """Makes listeners and closes them after the test, because uvloop does not end before that."""
    maker = ListenerMaker()
    yield maker
    await maker.close()
