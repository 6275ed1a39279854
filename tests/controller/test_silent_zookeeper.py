"""A ZooKeeper that accepts connections, or grants a session, and then answers nothing."""

import asyncio
import logging
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.base import slow_waits
from pybroker.controller.tree import zookeeper_store
from pybroker.controller.tree.metadata_store import StoreUnreachableError
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore
from support.processes.kafka_process import ZooKeeperProcess


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path).start()
    yield process
    process.stop()


async def test_start_with_a_server_that_never_answers_says_so() -> None:
    """The system still accepts connections for a process that is stopped."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        settings = ZooKeeperSettings(address, "", session_timeout_ms=5_000, connection_timeout_ms=300)
        with pytest.raises(
            StoreUnreachableError, match=f"{address} accepted the connection, but has not ans"
        ) as caught:
            await ZooKeeperStore.open(settings)
    assert caught.value.was_reached


async def test_silence_after_the_session_began_is_logged(
    zookeeper: ZooKeeperProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[str] = asyncio.Queue()
    handler = logging.Handler()
    monkeypatch.setattr(handler, "emit", lambda record: lines.put_nowait(record.getMessage()))
    monkeypatch.setattr(zookeeper_store.logger, "handlers", [handler])
    monkeypatch.setattr(slow_waits, "_LONG_S", 0.001)
    monkeypatch.setattr(ZooKeeperStore, "exists", lambda *_: loop.create_future())
    opening = loop.create_task(ZooKeeperStore.open(ZooKeeperSettings(zookeeper.connect, "/root", 5_000, 5_000)))
    while (line := await lines.get()).startswith("waiting for a session with ZooKeeper"):
        pass
    assert line == f"waiting for ZooKeeper at {zookeeper.connect} to say whether there is /root"
    opening.cancel()
    await asyncio.wait([opening])
