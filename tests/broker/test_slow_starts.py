"""A start that waits for long says in the log what it waits for, wherever it waits."""

import asyncio
import logging
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest
from pybroker import Broker
from pybroker.base import slow_waits
from pybroker.broker import start_steps
from pybroker.broker.environment import Environment
from pybroker.broker.server import BrokerServer
from pybroker.broker.start_error import StartError
from pybroker.config.config import Config
from pybroker.config.load import load_config
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import MetadataStore
from pybroker.storage.files.files import File, Files
from support.time.virtual_time import VirtualTime

OPERATIONS = ("children", "create", "delete", "exists", "get", "multi", "set")


class StoreThatFallsSilent:
    """Answers that number of operations, and no later one."""

    def __init__(self, store: MetadataStore, answers: int) -> None:
        self._store = store
        self._left = answers
        self.is_silent = asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        return found if name not in OPERATIONS else lambda *given, **named: self._answer(found, *given, **named)

    def _answer(self, operation: Callable[..., Any], *given: object, **named: object) -> Any:
        if self._left:
            self._left -= 1
            return operation(*given, **named)
        self.is_silent.set()
        return asyncio.get_running_loop().create_future()


class Lines(logging.Handler):
    """Collects what a start says about its waits."""

    def __init__(self) -> None:
        super().__init__()
        self._queue: asyncio.Queue[str] = asyncio.Queue()

    def emit(self, record: logging.LogRecord) -> None:
        self._queue.put_nowait(record.getMessage())

    async def next(self) -> str:
        while not self._queue.empty():  # said before the step began that the test is about
            self._queue.get_nowait()
        return (await self._queue.get()).removeprefix("the start waits for ")


@pytest.fixture
def lines(monkeypatch: pytest.MonkeyPatch) -> Lines:
    monkeypatch.setattr(slow_waits, "_LONG_S", 0.001)
    handler = Lines()
    monkeypatch.setattr(start_steps.logger, "handlers", [handler])
    return handler


async def killed(server: BrokerServer, start: "asyncio.Task[None]") -> None:
    server.kill()
    with pytest.raises(StartError):
        await start
    await server.settle()


async def test_start_whose_zookeeper_falls_silent_names_the_step_that_waits(tmp_path: Path, lines: Lines) -> None:
    settings = {"zookeeper.connect": "zk1:2181", "listeners": "PLAINTEXT://127.0.0.1:0", "broker.id": "3"}
    steps: list[str] = []

    async def is_silent_after(answers: int) -> bool:
        """Returns False when the start needed no more answers."""
        stores: list[StoreThatFallsSilent] = []

        async def open_store(_config: Config, clock_ms: Callable[[], int]) -> MetadataStore:
            opened = await EmbeddedStore.open(tmp_path / f"store-{answers}", clock_ms)
            stores.append(StoreThatFallsSilent(opened, answers))
            is_open.set()
            return cast("MetadataStore", stores[0])

        is_open = asyncio.Event()
        config = load_config("", {**settings, "log.dirs": str(tmp_path / f"data-{answers}")})
        server = BrokerServer(config, Environment(files=Files(100), open_store=open_store))
        start = asyncio.get_running_loop().create_task(server.start())
        await is_open.wait()
        silent = asyncio.get_running_loop().create_task(stores[0].is_silent.wait())
        await asyncio.wait([start, silent], return_when=asyncio.FIRST_COMPLETED)
        silent.cancel()
        if start.done():
            await start
            server.kill()
            await server.settle()
            return False
        steps.append(await lines.next())
        await killed(server, start)
        return True

    answers = 0
    while await is_silent_after(answers):
        answers += 1
    assert list(dict.fromkeys(steps)) == [
        "the metadata in ZooKeeper at zk1:2181",
        "the registration of broker id 3",
        "a controller, and its first orders to this broker",
        "the latest changes of settings",
    ]


class StuckDisk(Files):
    """Stands still at the first use of the paths that end with `suffix`, until it is told to go on."""

    def __init__(self, suffix: str) -> None:
        super().__init__(100)
        self._suffix = suffix
        self._loop = asyncio.get_running_loop()
        self.is_stuck = asyncio.Event()
        self.may_go_on = threading.Event()

    def _wait_at(self, path: str) -> None:
        if path.endswith(self._suffix):
            self._loop.call_soon_threadsafe(self.is_stuck.set)
            self.may_go_on.wait()

    def make_directory(self, path: str) -> None:
        self._wait_at(path)
        super().make_directory(path)

    def read_bytes(self, path: str) -> bytes:
        self._wait_at(path)
        return super().read_bytes(path)

    def open(self, path: str, *, create: bool = False) -> File:
        self._wait_at(path)
        return super().open(path, create=create)


@pytest.mark.parametrize(
    ("suffix", "was_clean", "step"),
    [
        ("/data", True, "the log directories {data}"),
        ("/.lock", True, "the log directories {data}"),
        ("/meta.properties", True, "the log directories {data}"),
        ("/events-0", True, "the opening of the logs in {data}"),
        ("/events-0", False, "the recovery of the logs in {data}"),
        ("/replication-offset-checkpoint", True, "the checkpoints of the high watermarks"),
    ],
)
async def test_start_on_a_disk_that_stands_still_names_the_log_directory(
    tmp_path: Path, lines: Lines, suffix: str, was_clean: bool, step: str
) -> None:
    data = tmp_path / "data"
    settings = {"log.dirs": str(data), "listeners": "PLAINTEXT://127.0.0.1:0"}
    async with Broker(settings):
        pass
    (data / "events-0").mkdir()
    if not was_clean:
        (data / ".kafka_cleanshutdown").unlink()
    disk = StuckDisk(suffix)
    server = BrokerServer(load_config("", settings), Environment(files=disk))
    start = asyncio.get_running_loop().create_task(server.start())
    await disk.is_stuck.wait()
    assert await lines.next() == step.format(data=data)
    disk.may_go_on.set()
    await start
    assert server.is_running
    await server.stop()


async def test_start_that_waits_for_its_metadata_store_or_its_addresses_says_so(
    tmp_path: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_given: object, **_named: object) -> Any:
        is_waiting.set()
        await asyncio.get_running_loop().create_future()

    is_waiting = asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(loop, "getaddrinfo", never)
    config = load_config("", {"log.dirs": str(tmp_path), "listeners": "PLAINTEXT://name.example:0"})
    steps = []
    for environment in (Environment(open_store=never), Environment()):
        is_waiting.clear()
        server = BrokerServer(config, environment)
        start = loop.create_task(server.start())
        await is_waiting.wait()
        steps.append(await lines.next())
        await killed(server, start)
    assert steps == [f"the metadata store {tmp_path}/__pybroker_metadata.db", "the addresses of its listeners"]


def test_step_is_named_again_after_gaps_that_grow_to_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    time = VirtualTime()
    with start_steps.StartSteps(time) as steps:
        steps.begin("the first")
        time.advance(1_999)
        steps.begin("the second")
        seconds = []
        for second in range(1, 201):
            time.advance(1_000)
            if caplog.messages:
                assert caplog.messages == ["the start waits for the second"]
                seconds.append(second)
                caplog.clear()
        assert seconds == [2, 6, 14, 30, 62, 122, 182]
    steps.begin("the third")
    assert time.armed_count == 0
