"""A broker that recovers its logs answers over HTTP how far it is, and that it is not ready."""

import asyncio
import itertools
import json
import threading
import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest
from pybroker import Broker
from pybroker.broker.commands.command_line import main
from pybroker.broker.environment import Environment
from pybroker.broker.server import BrokerServer
from pybroker.config.load import load_config
from pybroker.protocol.errors import ErrorCode
from pybroker.storage.recovery.recovery_progress import RecoveryProgress
from pybroker.storage.store import recovery_plan
from support.clients.good_client import produce_request
from support.clients.topics import create_topic
from support.clients.wire_client import WireClient
from support.in_process.broker_cluster import until
from support.in_process.replicas import batch_of
from support.in_process.scraping import ScrapedSamples, samples_in
from support.logs.held_files import FilesHeldAtOpening

PARTITIONS, DONE = 5, 3
SIZE_BYTES = 1 << 20


def write_and_crash(settings: dict[str, str]) -> None:
    """Leave logs of the same size that were not stopped cleanly."""
    with Broker(settings) as broker:
        create_topic(broker.bootstrap_servers, "orders", PARTITIONS)
        with WireClient(broker.bootstrap_servers) as client:
            for number in range(PARTITIONS):
                answer = client.ask(produce_request("orders", batch_of(b"x" * SIZE_BYTES), partition=number), 9)
                assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
        broker.kill()


class Directories:
    """Whether a file is in another directory of the topic than the first ``count`` that were seen."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._seen: dict[str, None] = {}

    def is_later(self, path: str) -> bool:
        if "/orders-" not in path:
            return False
        self._seen[str(Path(path).parent)] = None
        return len(self._seen) > self._count


async def get(url: str) -> tuple[int, bytes]:
    def ask() -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(url) as response:
                return response.status, response.read()
        except HTTPError as error:
            return error.code, error.read()

    return await asyncio.to_thread(ask)


async def answer(url: str) -> tuple[int, Any]:
    status, body = await get(url)
    return status, json.loads(body)


class HeldProgress:
    """Reports of child processes that wait once ``DONE`` logs are counted."""

    def __init__(self) -> None:
        self.is_reached = threading.Event()
        self.may_pass = threading.Event()
        self._reports = itertools.count()
        self._read = RecoveryProgress.read

    def read(self, progress: RecoveryProgress, size_bytes: int) -> None:
        if next(self._reports) >= DONE:
            self.is_reached.set()
            self.may_pass.wait()
        self._read(progress, size_bytes)


@pytest.fixture(params=["in the broker", "in child processes"])
def held(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> tuple[Environment, FilesHeldAtOpening | HeldProgress]:
    """The environment of a broker whose recovery waits after ``DONE`` logs, and what holds it."""
    if request.param == "in the broker":
        files = FilesHeldAtOpening(Directories(DONE).is_later)
        return Environment(files=files), files
    held = HeldProgress()
    monkeypatch.setattr(recovery_plan, "_WORTH_PROCESSES", 1)
    monkeypatch.setattr(RecoveryProgress, "read", lambda progress, size_bytes: held.read(progress, size_bytes))
    return Environment(), held


async def test_probes_tell_how_far_the_recovery_is_and_then_that_the_broker_is_ready(
    held: tuple[Environment, FilesHeldAtOpening | HeldProgress], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environment, holding = held
    settings = {
        "log.dirs": str(tmp_path / "data"),
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "pybroker.http.listeners": "HTTP://127.0.0.1:0",
        "message.max.bytes": str(2 * SIZE_BYTES),
        "num.recovery.threads.per.data.dir": "1" if isinstance(holding, FilesHeldAtOpening) else "2",
    }
    await asyncio.to_thread(write_and_crash, settings)
    broker = BrokerServer(load_config("", settings), environment)
    starting = asyncio.create_task(broker.start())
    try:
        await until(lambda: holding.is_reached.is_set() or starting.done(), "the recovery reaches the log that is held")
        (endpoint,) = broker.observability.endpoints
        url = f"http://127.0.0.1:{endpoint.port}"

        assert await answer(f"{url}/livez") == (200, {"status": "ok"})
        reason = [f"recovering {100 * DONE // PARTITIONS} %"]
        assert await answer(f"{url}/readyz") == (503, {"status": "not ready", "reasons": reason})
        status, stop = await answer(f"{url}/safe-to-stop")
        assert (status, stop["reasons"]) == (503, reason)
        _, text = await get(f"{url}/metrics")
        found = ScrapedSamples(samples_in(text.decode()))
        assert found.value("pybroker_recovery_progress_ratio") == DONE / PARTITIONS
        assert found.value("pybroker_ready") == 0
        assert found.value("kafka_server_kafkaserver_brokerstate") == 2
        file = tmp_path / "server.properties"
        file.write_text(f"pybroker.http.listeners={endpoint}\n")
        assert await asyncio.to_thread(main, ["healthcheck", "--probe", "readyz", "--config", str(file)]) == 1
        assert capsys.readouterr().err.endswith(f"says no to /readyz: {reason[0]}\n")
    finally:
        holding.may_pass.set()
        await starting
    assert await answer(f"{url}/readyz") == (200, {"status": "ok"})
    assert await asyncio.to_thread(main, ["healthcheck", "--probe", "readyz", "--config", str(file)]) == 0
    ends = [hosted.log.log_end_offset for hosted in broker._partitions if hosted.topic_partition.topic == "orders"]
    assert ends == [1] * PARTITIONS
    await broker.stop()
    await broker.settle()
