"""The console as a child of the broker: it comes with the broker, ends with it, and never costs its start."""

import asyncio
import os
import signal
import socket
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import psutil
from pybroker.broker.process.console_child import ConsoleChild
from support.processes.broker_process import BrokerProcess
from support.processes.ports import free_port
from support.time.patience import await_answer


def children_of(broker: BrokerProcess) -> list[psutil.Process]:
    return [child for child in psutil.Process(broker.pid).children() if "--ends-with-stdin" in child.cmdline()]


def is_served(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/session", timeout=5) as reply:
            return bool(reply.status == 200)
    except OSError:
        return False


def test_console_comes_and_ends_with_its_broker(tmp_path: Path) -> None:
    port = free_port()
    with BrokerProcess(tmp_path, {"pybroker.console": f"127.0.0.1:{port}"}) as broker:
        await_answer(lambda: is_served(port), bool, "the console")
        (child,) = children_of(broker)
        assert child.nice() == 10
        assert child.rlimit(psutil.RLIMIT_DATA)[0] == 1 << 30
        assert child.memory_info().rss < 60 << 20
        broker.kill()
        child.wait(30)


def test_broker_runs_without_its_console(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with BrokerProcess(tmp_path, {"pybroker.console": address}) as broker:
            await_answer(lambda: broker.output, lambda said: "the web console ended with 1" in said, "the log line")
            assert f"cannot listen on {address}" in broker.output


async def eventually(is_so: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not is_so():  # noqa: ASYNC110 (a process tells no event)
            await asyncio.sleep(0.01)


async def test_killed_console_is_started_again() -> None:
    child = ConsoleChild([], "http://127.0.0.1:8093", [sys.executable, "-c", "import sys; sys.stdin.read()"])
    child.start()
    await eventually(lambda: child.pid is not None)
    first = child.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    await eventually(lambda: child.starts == 2)
    assert child.pid != first
    await child.close()
    assert child.pid is None
