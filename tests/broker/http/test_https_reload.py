"""The HTTPS endpoint takes new certificates while clients come and go, and none of them notices."""

import asyncio
import os
import re
import shutil
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pybroker.protocol.errors import ErrorCode
from support.clients.async_wire_client import AsyncWireClient
from support.clients.config_requests import BROKER, SET, Change, Resource, alter
from support.clients.http_client import HttpClient
from support.in_process.broker_cluster import until
from support.in_process.tls_ends import STORES, client_context
from support.processes.broker_process import BrokerProcess

LOCATION = "listener.name.https.ssl.keystore.location"
VISITORS, SURE = 4, 12
"""Connections at a time, and how many of them in a row show that the certificate has changed."""


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """The key store that the broker's settings name."""
    return Path(shutil.copy(STORES / "server.pem", tmp_path / "store.pem"))


@pytest.fixture
def broker(tmp_path: Path, store: Path) -> Iterator[BrokerProcess]:
    settings = {
        "broker.id": "1",
        "pybroker.http.listeners": "HTTPS://127.0.0.1:0",
        "listener.name.https.ssl.keystore.type": "PEM",
        "listener.name.https.ssl.allow.dn.changes": "true",
        "listener.name.https.ssl.allow.san.changes": "true",
        LOCATION: str(store),
    }
    with BrokerProcess(tmp_path, settings) as running:
        yield running


class Visitors:
    """Clients that connect, ask three times and leave. ``seen``: the name in the certificate of each connection."""

    def __init__(self, port: int) -> None:
        self.seen: list[str] = []
        self._port = port
        self._is_over = False

    @asynccontextmanager
    async def at_work(self) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(self._visit()) for _ in range(VISITORS)]
        try:
            yield
        finally:
            self._is_over = True
            await asyncio.gather(*tasks)

    async def see_only(self, name: str) -> None:
        """Wait until new connections have no other certificate."""
        start = len(self.seen)
        await until(
            lambda: len(self.seen) > start + SURE and set(self.seen[-SURE:]) == {name}, f"the certificate is of {name}"
        )

    async def _visit(self) -> None:
        context = client_context()
        while not self._is_over:
            async with HttpClient(self._port, tls=context) as client:
                for _ in range(3):
                    assert (await client.get("/livez")).status == 200
                self.seen.append(name_of(client))


def name_of(client: HttpClient) -> str:
    """The common name in the certificate of the server."""
    subject = dict(pair for names in client.writer.get_extra_info("peercert")["subject"] for pair in names)
    return str(subject["commonName"])


def replace_with(store: Path, content: bytes) -> None:
    new = store.with_suffix(".new")
    new.write_bytes(content)
    os.replace(new, store)


async def alter_location(broker: BrokerProcess, path: Path) -> ErrorCode:
    client = await AsyncWireClient.connect(broker.bootstrap_servers)
    answer = await client.ask(alter((Resource(BROKER, "1"), [Change(LOCATION, SET, str(path))])), 1)
    client.close()
    return ErrorCode(answer.responses[0].error_code)


async def test_new_certificate_by_sighup_or_a_changed_setting_disturbs_no_client(
    broker: BrokerProcess, store: Path, tmp_path: Path
) -> None:
    port = int(re.findall(r"HTTPS://127\.0\.0\.1:(\d+)", broker.output)[-1])
    visitors = Visitors(port)
    async with HttpClient(port, tls=client_context()) as faithful, visitors.at_work():
        assert (await faithful.get("/livez")).status == 200
        await visitors.see_only("server")

        replace_with(store, (STORES / "deep-server.pem").read_bytes())
        os.kill(broker.pid, signal.SIGHUP)
        await visitors.see_only("deep")

        replace_with(store, b"not a certificate")
        os.kill(broker.pid, signal.SIGHUP)
        await until(lambda: "a changed setting cannot be applied: listener HTTPS" in broker.output, "a line about it")
        await visitors.see_only("deep")

        other = Path(shutil.copy(STORES / "server.pem", tmp_path / "other.pem"))
        assert await alter_location(broker, other) is ErrorCode.NONE
        await visitors.see_only("server")

        assert await alter_location(broker, tmp_path / "missing.pem") is ErrorCode.INVALID_REQUEST
        await visitors.see_only("server")
        assert (await faithful.get("/livez")).status == 200
        assert name_of(faithful) == "server"
