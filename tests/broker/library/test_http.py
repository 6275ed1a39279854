"""The HTTP endpoint of a broker in a program."""

import asyncio
import json
import urllib.request

import pytest
from pybroker.broker.library.broker import Broker


async def get(url: str) -> tuple[int, dict[str, object]]:
    def ask() -> tuple[int, dict[str, object]]:
        with urllib.request.urlopen(url) as response:
            return response.status, json.load(response)

    return await asyncio.to_thread(ask)


async def test_broker_answers_probes_at_the_address_that_was_set() -> None:
    async with Broker({"pybroker.http.listeners": "HTTP://127.0.0.1:0"}) as broker:
        assert broker.http_url is not None
        for probe in ("livez", "readyz"):
            assert await get(f"{broker.http_url}/{probe}") == (200, {"status": "ok"})


async def test_broker_has_no_http_endpoint_unless_its_address_is_set() -> None:
    async with Broker() as broker:
        assert broker.http_url is None


async def test_stopped_broker_has_closed_its_http_endpoint() -> None:
    async with Broker({"pybroker.http.listeners": "HTTP://127.0.0.1:0"}) as broker:
        url = broker.http_url
        await broker.stop()
        with pytest.raises(OSError, match="refused"):
            await get(f"{url}/livez")
