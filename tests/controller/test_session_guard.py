"""The process that ends a broker's session when the broker dies: at once then, and never before.

Sessions here last for longer than any test may: a node that goes was taken by the guard.
"""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from itertools import count

import psutil
import pytest
from pybroker.controller.metadata_store import WatchEvent
from pybroker.controller.session_guard import SessionGuard
from pybroker.controller.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.zookeeper_store import ZooKeeperStore
from support.kafka_process import ZooKeeperProcess

ROOTS = count()
LONGER_THAN_ANY_TEST_MS = 3_600_000


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    directory = tmp_path_factory.mktemp("zookeeper")
    process = ZooKeeperProcess(directory, {"maxSessionTimeout": str(LONGER_THAN_ANY_TEST_MS)}).start()
    yield process
    process.stop()


@pytest.fixture
def root() -> str:
    return f"/guarded/{next(ROOTS)}"


def settings_of(servers: str, root: str, *, is_guarded: bool = True) -> ZooKeeperSettings:
    return ZooKeeperSettings(servers, root, LONGER_THAN_ANY_TEST_MS, 30_000, is_guarded=is_guarded)


class Owner:
    """A process that has a session and a node in it, /here."""

    def __init__(self, servers: str, root: str) -> None:
        code = f"""
import asyncio
from pybroker.controller.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.zookeeper_store import ZooKeeperStore
async def main():
    store = await ZooKeeperStore.open(
        ZooKeeperSettings({servers!r}, {root!r}, {LONGER_THAN_ANY_TEST_MS}, 30_000, is_guarded=True)
    )
    await store.create("/here", ephemeral=True)
    print(store._guard.pid, flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
        self.process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.guard = psutil.Process(int(self.process.stdout.readline()))

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        with suppress(psutil.NoSuchProcess):
            self.guard.wait()


def guards() -> list[psutil.Process]:
    """Those of this process."""
    children = psutil.Process().children()
    return [
        child
        for child in children
        if child.status() != psutil.STATUS_ZOMBIE and any("session_guard" in word for word in child.cmdline())
    ]


@pytest.fixture
def owner(zookeeper: ZooKeeperProcess, root: str) -> Iterator[Owner]:
    owner = Owner(zookeeper.connect, root)
    yield owner
    owner.kill()


async def test_session_of_a_process_that_is_killed_ends_with_it(
    zookeeper: ZooKeeperProcess, root: str, owner: Owner
) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
    gone: asyncio.Future[WatchEvent] = asyncio.get_running_loop().create_future()
    assert await store.exists("/here", gone.set_result) is not None
    await asyncio.to_thread(owner.kill)
    await gone
    await store.close()


async def test_guard_does_nothing_while_the_process_lives(zookeeper: ZooKeeperProcess, root: str, owner: Owner) -> None:
    """Stopped it lives, too; and signals that go to everyone are not for the guard."""
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
    os.kill(owner.process.pid, signal.SIGSTOP)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        owner.guard.send_signal(number)
    assert owner.guard.is_running()
    assert owner.guard.status() != psutil.STATUS_ZOMBIE
    assert await store.exists("/here") is not None
    os.kill(owner.process.pid, signal.SIGCONT)
    assert os.getpgid(owner.guard.pid) != os.getpgid(owner.process.pid)
    await store.close()


async def test_guard_ends_with_a_session_that_is_closed(zookeeper: ZooKeeperProcess, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    assert store._guard is not None
    assert store._guard.pid in [guard.pid for guard in guards()]
    guard = psutil.Process(store._guard.pid)
    await store.close()
    assert not guard.is_running()


async def test_store_that_is_killed_loses_its_session_as_a_process_that_dies(
    zookeeper: ZooKeeperProcess, root: str
) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    other = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
    await store.create("/here", ephemeral=True)
    gone: asyncio.Future[WatchEvent] = asyncio.get_running_loop().create_future()
    await other.exists("/here", gone.set_result)
    store.kill()
    await gone
    await other.close()


async def test_without_a_guard_there_is_no_other_process(zookeeper: ZooKeeperProcess, root: str) -> None:
    before = guards()
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
    assert [guard for guard in guards() if guard not in before] == []
    await store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages as Linux does")
def test_guard_costs_a_few_mebibytes(owner: Owner) -> None:
    assert owner.guard.memory_full_info().uss < 8 * 1024 * 1024


def test_guard_tries_each_server_until_one_answers(zookeeper: ZooKeeperProcess, root: str) -> None:
    """The first takes connections and closes them, as a ZooKeeper that has lost its ensemble does."""

    async def session() -> tuple[int, bytes]:
        store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
        await store.create("/here", ephemeral=True)
        store.kill()
        return store.credentials

    async def is_gone() -> bool:
        store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
        stat = await store.exists("/here")
        await store.close()
        return stat is None

    credentials = asyncio.run(session())
    with socket.create_server(("127.0.0.1", 0)) as unwilling:
        servers = [unwilling.getsockname(), ("127.0.0.1", zookeeper.port)]
        guard = SessionGuard(servers, credentials, LONGER_THAN_ANY_TEST_MS, None)
        guard.let_go()
        connection, _ = unwilling.accept()
        connection.close()
        guard.wait()
    assert asyncio.run(is_gone())
