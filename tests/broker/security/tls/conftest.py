"""Fixtures: coroutines that are tests run on both event loops, uvloop (the broker's) and asyncio's own."""

import asyncio
from collections.abc import Callable, Mapping

import pytest
import uvloop
from support.in_process.tls_network import TlsNetwork


def pytest_asyncio_loop_factories(
    config: pytest.Config, item: pytest.Item
) -> Mapping[str, Callable[[], asyncio.AbstractEventLoop]]:
    return {"uvloop": uvloop.new_event_loop, "asyncio": asyncio.new_event_loop}


@pytest.fixture
async def tls_network(monkeypatch: pytest.MonkeyPatch) -> TlsNetwork:
    return TlsNetwork(monkeypatch)
