"""The guard process ends a broker's session as soon as the broker's process dies, and never before.

Session timeouts here are longer than any test, so only the guard can delete an ephemeral node.
"""

import asyncio
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import psutil
import pytest
from pybroker.controller.tree import guard_supervisor, session_guard
from pybroker.controller.tree.metadata_store import WatchEvent
from pybroker.controller.tree.session_guard import SessionGuard
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore
from pybroker.storage.compaction.cleaner_child import CleanerChild
from pybroker.storage.workers.big_batches import run_big_batch
from support.in_process.metadata_store_suite import kill_ends_the_session
from support.processes.kafka_process import ZooKeeperProcess
from support.time.patience import BETWEEN_LOOKS_S, HANGS_AFTER_S, LOOKS, await_that

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
    """A process with a session and the ephemeral node /here. ``then``: Python code that it runs afterwards."""

    def __init__(
        self, servers: str, root: str, then: str = "", session_timeout_ms: int = LONGER_THAN_ANY_TEST_MS
    ) -> None:
        code = f"""
import asyncio, os, signal, sys
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore
async def main():
    store = await ZooKeeperStore.open(
        ZooKeeperSettings({servers!r}, {root!r}, {session_timeout_ms}, 30_000, is_guarded=True)
    )
    await store.create("/here", ephemeral=True)
    print(store._guard.guard.pid, flush=True)
    {then or "pass"}
    print("done", flush=True)
    await asyncio.Event().wait()
asyncio.run(main())
"""
        self.process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.guard = psutil.Process(int(self.said()))

    def said(self) -> str:
        """The next line of its output."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def let_go_on(self) -> None:
        """Send a line of input to ``then``."""
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def go_on(self) -> None:
        """Send a line of input, and return when ``then`` is done."""
        self.let_go_on()
        assert self.said() == "done"

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        with suppress(psutil.NoSuchProcess):
            self.guard.wait()


def guards() -> list[psutil.Process]:
    """The guard processes of this process."""
    return [child for child in psutil.Process().children() if _is_guard(child)]


def _is_guard(child: psutil.Process) -> bool:
    try:
        return any("session_guard" in word for word in child.cmdline())
    except psutil.NoSuchProcess:  # it has just ended, or is a zombie
        return False


def guard_of(store: ZooKeeperStore) -> SessionGuard:
    assert store._guard is not None
    assert store._guard.guard is not None
    return store._guard.guard


async def until(condition: Callable[[], object], what: str) -> None:
    """Wait until the condition holds, while the running loop continues."""
    for _ in range(LOOKS):
        if condition():
            return
        await asyncio.sleep(BETWEEN_LOOKS_S)
    raise AssertionError(f"{what}: not after {LOOKS} looks")


@pytest.fixture
def owner(zookeeper: ZooKeeperProcess, root: str) -> Iterator[Owner]:
    owner = Owner(zookeeper.connect, root)
    yield owner
    owner.kill()


async def test_session_of_a_killed_process_ends_at_once(zookeeper: ZooKeeperProcess, root: str, owner: Owner) -> None:
    await is_gone_when(owner.kill, zookeeper, root)


async def test_guard_that_dies_is_replaced(zookeeper: ZooKeeperProcess, root: str) -> None:
    replaced = """first = store._guard.guard
    await asyncio.to_thread(sys.stdin.readline)
    os.kill(first.pid, signal.SIGKILL)
    while store._guard.guard in (first, None): await asyncio.sleep(0.01)
    print(store._guard.guard.pid, flush=True)"""
    owner = Owner(zookeeper.connect, root, replaced)
    owner.let_go_on()
    assert int(owner.said()) != owner.guard.pid
    await is_gone_when(owner.kill, zookeeper, root)


async def test_guard_is_replaced_only_while_the_session_lasts(
    zookeeper: ZooKeeperProcess, root: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard_supervisor, "PAUSE_S", 0.0)
    before = guards()
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    await store.create("/here", ephemeral=True)
    for deaths in range(1, 4):
        dead = guard_of(store)
        os.kill(dead.pid, signal.SIGKILL)
        await until(lambda dead=dead: store._guard.guard not in (dead, None), "another guard")  # type: ignore[misc, union-attr]
        assert caplog.text.count("the session has no guard, the next one starts") == deaths
        assert f"process {dead.pid} has ended by signal 9" in caplog.text
    assert [guard.pid for guard in guards() if guard not in before] == [guard_of(store).pid]
    assert await store.exists("/here") is not None, "no guard ends the session of a broker that lives"
    await store.close()
    assert [guard for guard in guards() if guard not in before] == []
    assert caplog.text.count("the session has no guard") == 3


async def test_guards_that_keep_dying_are_restarted_with_backoff_and_logged_once(
    zookeeper: ZooKeeperProcess,
    root: str,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard_supervisor, "LONGEST_PAUSE_S", 0.0)
    monkeypatch.setattr(guard_supervisor, "LASTING_S", float("inf"))  # a process may take long to end
    lives, program = tmp_path / "lives", tmp_path / "ends_at_once.py"
    program.write_text(f"open({str(lives)!r}, 'a').write('x')\nraise SystemExit(3)")
    with monkeypatch.context() as short_lived:
        short_lived.setattr(session_guard, "_PROGRAM", program)
        store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
        await until(lambda: lives.exists() and lives.stat().st_size > 10, "ten of them")
    assert caplog.text.count("the next one starts") == 1
    assert caplog.text.count("has ended with status 3") == 1
    await store.create("/here", ephemeral=True)
    lasting = "session_guard_process"
    await until(lambda: any(lasting in word for guard in guards() for word in guard.cmdline()), "one that can live")
    await store.close()


async def test_no_guard_is_started_after_the_session_has_ended(
    zookeeper: ZooKeeperProcess, root: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guard_supervisor, "PAUSE_S", 3600.0)
    monkeypatch.setattr(guard_supervisor, "LASTING_S", float("inf"))
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    first, post = guard_of(store), store._guard
    os.kill(first.pid, signal.SIGKILL)
    await until(lambda: post is not None and post.guard not in (first, None), "the second, which comes at once")
    os.kill(guard_of(store).pid, signal.SIGKILL)
    await until(lambda: "the next one starts in 64 s" in caplog.text, "the third is sent for")
    await store.close()
    assert post is not None
    assert post._restart is not None
    assert post._restart.cancelled()


async def test_guard_that_cannot_be_started_is_retried(
    zookeeper: ZooKeeperProcess, root: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/no/such/python")
        store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
        await until(lambda: "no process could be started" in caplog.text, "it could not be started")
    await until(lambda: store._guard is not None and store._guard.guard is not None, "a guard")
    await store.close()


async def test_session_ends_with_the_process_even_if_a_fork_of_it_continues(
    zookeeper: ZooKeeperProcess, root: str
) -> None:
    """The fork also has the pipe whose end would tell the guard that the process died."""
    fork = "if not (fork := os.fork()): signal.pause()\n    print(fork, flush=True)"
    owner = Owner(zookeeper.connect, root, fork)
    forked = int(owner.said())
    try:
        await is_gone_when(owner.kill, zookeeper, root)
    finally:
        os.kill(forked, signal.SIGKILL)


async def is_gone_when(act: Callable[[], None], zookeeper: ZooKeeperProcess, root: str) -> None:
    """Check that /here exists before the action and is deleted after it."""
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
    gone: asyncio.Future[WatchEvent] = asyncio.get_running_loop().create_future()
    assert await store.exists("/here", gone.set_result) is not None
    await asyncio.to_thread(act)
    await gone
    await store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the end of the pipe must do")
async def test_closed_pipe_of_a_live_process_does_not_end_its_session(zookeeper: ZooKeeperProcess, root: str) -> None:
    """As when someone closes all files of the process."""
    close = "await asyncio.to_thread(sys.stdin.readline); os.close(store._guard.guard._process.stdin.fileno())"
    owner = Owner(zookeeper.connect, root, close)
    await asyncio.to_thread(await_that, lambda: is_asleep(owner.guard), "the guard has its order")
    before = owner.guard.num_ctx_switches().voluntary
    owner.go_on()
    noticed = lambda: owner.guard.num_ctx_switches().voluntary > before and is_asleep(owner.guard)  # noqa: E731
    await asyncio.to_thread(await_that, noticed, "the guard has seen the end of the pipe")
    assert owner.guard.is_running()
    await is_gone_when(owner.kill, zookeeper, root)


def is_asleep(process: psutil.Process) -> bool:
    return bool(process.status() == psutil.STATUS_SLEEPING)


async def test_session_without_its_guard_lasts_until_its_timeout(zookeeper: ZooKeeperProcess, root: str) -> None:
    """As when the machine is lost."""
    owner = Owner(zookeeper.connect, root, session_timeout_ms=1_000)
    os.kill(owner.process.pid, signal.SIGSTOP)  # or it would start another
    owner.guard.kill()
    await asyncio.to_thread(await_that, lambda: owner.guard.status() == psutil.STATUS_ZOMBIE, "the guard is gone")
    await asyncio.to_thread(owner.kill)
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
    gone: asyncio.Future[WatchEvent] = asyncio.get_running_loop().create_future()
    if await store.exists("/here", gone.set_result) is not None:  # on a slow machine it may have timed out before
        await gone
    await store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the end of the pipe must do")
def test_guard_does_not_watch_a_process_that_reuses_the_brokers_pid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The broker died before its guard looked, a fork has the pipe, and another process has the broker's pid."""
    stranger = subprocess.Popen([sys.executable, "-c", "import signal; signal.pause()"])
    with socket.create_server(("127.0.0.1", 0)) as server:
        with monkeypatch.context() as patched:
            patched.setattr(os, "getpid", lambda: stranger.pid)
            guard = SessionGuard([server.getsockname()], (1, b"secret"), 1, None)
        try:
            server.settimeout(HANGS_AFTER_S)
            server.accept()[0].close()
        finally:
            guard.kill()
            stranger.kill()
            stranger.wait()


@pytest.mark.skipif(sys.platform != "linux", reason="looks at open files as Linux shows them")
async def test_other_child_processes_do_not_inherit_the_guards_pipe(zookeeper: ZooKeeperProcess, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    guard = guard_of(store)
    assert guard._process.stdin is not None
    pipe = os.readlink(f"/proc/self/fd/{guard._process.stdin.fileno()}")
    cleaner = CleanerChild()
    assert run_big_batch(len, b"abc") == 3
    children = [cleaner._started().pid, *(child.pid for child in psutil.Process().children())]
    assert len(set(children)) >= 4, "the guard, ZooKeeper, the cleaner, the reader of big batches"
    holders = [pid for pid in {*children, os.getpid()} if pipe in open_files(pid)]
    assert sorted(holders) == sorted([os.getpid(), guard.pid])  # the guard has the other end of it
    cleaner.stop()
    await store.close()


def open_files(process_id: int) -> list[str]:
    found = []
    for file in Path(f"/proc/{process_id}/fd").iterdir():
        with suppress(FileNotFoundError):  # the descriptor that lists the others
            found.append(os.readlink(file))
    return found


FOR_EVERYONE = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals. A process started by nohup ignores the last one from the beginning."""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at a process as Linux shows it")
async def test_guard_does_not_act_while_the_broker_process_exists(
    zookeeper: ZooKeeperProcess, root: str, owner: Owner
) -> None:
    """A stopped (SIGSTOP) broker is alive, and signals to the whole process group do not end the guard."""
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
    os.kill(owner.process.pid, signal.SIGSTOP)
    await asyncio.to_thread(
        await_that, lambda: all(ignores(owner.guard, each) for each in FOR_EVERYONE), "it has begun"
    )
    for number in FOR_EVERYONE:
        owner.guard.send_signal(number)
    assert owner.guard.is_running()
    assert owner.guard.status() != psutil.STATUS_ZOMBIE
    assert await store.exists("/here") is not None
    os.kill(owner.process.pid, signal.SIGCONT)
    assert os.getpgid(owner.guard.pid) != os.getpgid(owner.process.pid)
    await store.close()


def ignores(process: psutil.Process, number: signal.Signals) -> bool:
    (mask,) = re.findall(r"^SigIgn:\s+(\w+)$", Path(f"/proc/{process.pid}/status").read_text(), re.MULTILINE)
    return bool(int(mask, 16) >> (number - 1) & 1)


async def test_guard_ends_with_a_session_that_is_closed(zookeeper: ZooKeeperProcess, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    assert guard_of(store).pid in [guard.pid for guard in guards()]
    guard = psutil.Process(guard_of(store).pid)
    await store.close()
    assert not guard.is_running()


async def test_stopped_guard_process_does_not_block_close(zookeeper: ZooKeeperProcess, root: str) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    guard = psutil.Process(guard_of(store).pid)
    os.kill(guard.pid, signal.SIGSTOP)
    await until(lambda: guard.status() == psutil.STATUS_STOPPED, "it is stopped")
    async with asyncio.timeout(HANGS_AFTER_S):
        await store.close()
    assert not guard.is_running()


async def test_store_that_is_killed_loses_its_session_as_a_process_that_dies(
    zookeeper: ZooKeeperProcess, root: str
) -> None:
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root))
    other = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
    await kill_ends_the_session(store, other)
    await other.close()


async def test_unguarded_store_starts_no_other_process(zookeeper: ZooKeeperProcess, root: str) -> None:
    before = guards()
    store = await ZooKeeperStore.open(settings_of(zookeeper.connect, root, is_guarded=False))
    assert [guard for guard in guards() if guard not in before] == []
    await store.close()


@pytest.mark.skipif(sys.platform != "linux", reason="counts pages as Linux does")
def test_guard_process_uses_less_than_8_mebibytes(owner: Owner) -> None:
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
        guard.end_session()
        connection, _ = unwilling.accept()
        connection.close()
        guard.wait()
    assert asyncio.run(is_gone())


def test_guard_retries_for_longer_than_the_session_timeout() -> None:
    """A ZooKeeper that was away gives each session its whole time again."""
    with socket.create_server(("127.0.0.1", 0)) as unwilling:
        guard = SessionGuard([unwilling.getsockname()], (1, b"secret"), 1, None)
        guard.end_session()
        unwilling.settimeout(HANGS_AFTER_S)
        for _ in range(3):
            connection, _ = unwilling.accept()
            connection.close()
        os.kill(guard.pid, signal.SIGKILL)
        guard.wait()
