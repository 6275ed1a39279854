"""The HTTP endpoint of a broker in a program."""

import asyncio
import json
import logging
import socket
import ssl
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from pybroker.broker.environment import Environment
from pybroker.broker.library.broker import Broker
from pybroker.broker.server import BrokerServer
from pybroker.broker.start_error import StartError
from pybroker.config.load import load_config
from support.in_process.tls_ends import STORES


async def get(url: str, trusted: Path | None = None) -> tuple[int, dict[str, Any]]:
    def ask() -> tuple[int, dict[str, Any]]:
        context = None if trusted is None else ssl.create_default_context(cafile=trusted)
        with urllib.request.urlopen(url, context=context) as response:
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


async def test_broker_tells_its_versions_and_that_nothing_keeps_it_from_stopping() -> None:
    async with Broker({"pybroker.http.listeners": "HTTP://127.0.0.1:0"}) as broker:
        status, versions = await get(f"{broker.http_url}/buildinfo")
        assert (status, versions["kafka"]) == (200, "3.9")
        status, answer = await get(f"{broker.http_url}/safe-to-stop")
        assert (status, answer["status"]) == (200, "safe")
        status, answer = await get(f"{broker.http_url}/readyz?verbose")
        assert answer["checks"] == {"lifecycle": "ok", "registration": "ok", "log directories": "ok"}


async def test_https_uses_the_stores_of_its_own_listener_name() -> None:
    settings = {
        "pybroker.http.listeners": "HTTPS://127.0.0.1:0,HTTP://127.0.0.1:0",
        "listener.name.https.ssl.keystore.type": "PEM",
        "listener.name.https.ssl.keystore.location": str(STORES / "server.pem"),
    }
    async with Broker(settings) as broker:
        url = f"{broker.http_url}".replace("127.0.0.1", "localhost")
        assert url.startswith("https://")
        assert await get(f"{url}/livez", STORES / "authority.pem") == (200, {"status": "ok"})


async def test_https_without_a_key_refuses_the_start() -> None:
    with pytest.raises(StartError, match=r"listener HTTPS: ssl\.keystore\.location is not set"):
        await Broker({"pybroker.http.listeners": "HTTPS://127.0.0.1:0"}).start()


async def test_address_that_is_taken_refuses_the_start_and_the_way_out_names_the_setting() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"HTTP://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(StartError, match=r"stop what listens there, or change pybroker\.http\.listeners"):
            await Broker({"pybroker.http.listeners": address}).start()


async def test_default_address_that_is_taken_only_logs_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://127.0.0.1:0"}
    with socket.socket() as taken:
        with suppress(OSError):  # another program has it already
            taken.bind(("127.0.0.1", 8092))
            taken.listen()
        broker = BrokerServer(load_config("", settings), Environment(opens_default_http=True))
        with caplog.at_level(logging.WARNING):
            await broker.start()
        assert broker.observability.endpoints == ()
        assert "no HTTP endpoint" in caplog.text
        await broker.stop()
