"""A start that is killed, stopped or cancelled at any await leaves nothing behind, and the next start works."""

import asyncio
import gc
import shutil
import threading
from collections.abc import Callable, Coroutine
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import uvloop
from kafka import KafkaProducer
from pybroker import Broker
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.start_error import StartError
from pybroker.storage.workers import big_batches as apart
from support.processes.ports import free_port
from support.processes.process_state import open_descriptors
from support.time.await_points import at_await_point

CLEAN_STOP = ".kafka_cleanshutdown"
WRITTEN = TopicPartition("events", 0)


@pytest.fixture(autouse=True, scope="module")
def short_collections() -> None:
    """Exclude the objects of earlier tests from garbage collection: a thousand checks collect all garbage each."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of a broker that has stopped."""
    directory = tmp_path_factory.mktemp("written")
    with (
        Broker({"log.dirs": str(directory)}) as broker,
        closing(KafkaProducer(bootstrap_servers=broker.bootstrap_servers, acks="all")) as producer,
    ):
        for value in (b"one", b"two"):
            producer.send(WRITTEN.topic, value, partition=0).get(30)
    return directory


@pytest.fixture
def settings(written: Path, tmp_path: Path) -> dict[str, str | float]:
    """Settings of a broker with existing data, on a port reserved for it."""
    directory = shutil.copytree(written, tmp_path / "data")
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
        "log.dirs": str(directory),
        "num.io.threads": 2,
        "num.recovery.threads.per.data.dir": 1,
    }


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Coroutine[Any, Any, None]]], None]:
    def run_work(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(work())

    return run_work


@pytest.fixture(autouse=True)
def nobody_works_apart() -> None:
    """The process that reads large batches for tests before would end in the middle of one here."""
    apart._SHARED.close()
    for thread in threading.enumerate():
        if thread.name == "pybroker-big-batches":
            thread.join()


def what_is_there() -> tuple[set[threading.Thread], list[str], int, int]:
    """Threads, descriptors, tasks, and timers where the loop can list them."""
    timers = getattr(asyncio.get_running_loop(), "_scheduled", ())
    waiting = [timer for timer in timers if not timer.cancelled()]
    return set(threading.enumerate()), open_descriptors(), len(asyncio.all_tasks()), len(waiting)


def kept(broker: Broker) -> tuple[int, int]:
    """Log end offset and high watermark of the written log."""
    assert broker._server is not None
    hosted = broker._server._partitions.get(WRITTEN)
    assert hosted is not None
    return hosted.log.log_end_offset, hosted.partition.high_watermark


class Ends:
    """The ways in which a start under way ends, each with the error that it ends with."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.start: asyncio.Task[None] | None = None
        self.waiting: list[asyncio.Task[None]] = []

    def killed(self) -> None:
        self.broker.kill()
        assert not self.broker.is_running

    def stopped(self) -> None:
        self.waiting.append(asyncio.get_running_loop().create_task(self.broker.stop()))

    def cancelled(self) -> None:
        assert self.start is not None
        self.start.cancel()

    def cancelled_twice(self) -> None:
        self.cancelled()
        asyncio.get_running_loop().call_soon(self.cancelled)

    def stopped_and_killed(self) -> None:
        self.stopped()
        asyncio.get_running_loop().call_soon(self.killed)

    def killed_and_stopped(self) -> None:
        self.killed()
        self.stopped()


@pytest.mark.parametrize(
    ("way", "error", "turns"),
    [
        (Ends.killed, StartError, 1),
        (Ends.killed, StartError, 2),
        (Ends.stopped, StartError, 1),
        (Ends.stopped_and_killed, StartError, 1),
        (Ends.killed_and_stopped, StartError, 1),
        (Ends.cancelled, asyncio.CancelledError, 1),
        (Ends.cancelled_twice, asyncio.CancelledError, 1),
    ],
)
def test_start_that_ends_at_any_await_leaves_nothing_and_the_next_start_works(
    run: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
    settings: dict[str, str | float],
    way: Callable[[Ends], None],
    error: type[BaseException],
    turns: int,
) -> None:
    marker = Path(str(settings["log.dirs"])) / CLEAN_STOP

    async def end_at(number: int, broker: Broker) -> bool:
        """Returns False when the start was over before."""
        ends = Ends(broker)
        ended: list[int] = []

        def end() -> None:
            ended.append(number)
            way(ends)

        with at_await_point(number, end, turns):
            ends.start = asyncio.get_running_loop().create_task(broker.start())
            (outcome,) = await asyncio.gather(ends.start, return_exceptions=True)
        if ended:
            await asyncio.gather(*ends.waiting)
            await broker.kill()
            assert isinstance(outcome, error) or outcome is None
        return isinstance(outcome, error)

    async def work() -> None:
        broker = Broker(settings)
        async with broker:
            pass
        before = what_is_there()
        number = 1
        while await end_at(number, broker):
            assert not broker.is_running
            assert what_is_there() == before, f"ended at await point {number}"
            await broker.start()
            assert kept(broker) == (2, 2)
            await broker.kill() if number % 2 else await broker.stop()
            if way is Ends.killed and number % 2:
                assert not marker.exists()
            number += 1
        assert number > 10
        await broker.close()
        assert what_is_there() == before

    run(work)


def test_killed_broker_leaves_no_timers(settings: dict[str, str | float]) -> None:
    """The broker's periodic tasks."""
    intervals = (
        "log.initial.task.delay.ms",
        "log.retention.check.interval.ms",
        "log.flush.scheduler.interval.ms",
        "log.flush.offset.checkpoint.interval.ms",
        "log.flush.start.offset.checkpoint.interval.ms",
        "log.cleaner.backoff.ms",
        "producer.id.expiration.check.interval.ms",
        "replica.high.watermark.checkpoint.interval.ms",
        "offsets.retention.check.interval.ms",
    )
    short = dict.fromkeys(intervals, 10)

    async def work() -> None:
        before = what_is_there()
        broker = Broker({**settings, **short})
        await broker.start()
        while what_is_there()[-1] <= before[-1] + 5:  # noqa: ASYNC110  (some are at work just now)
            await asyncio.sleep(0)
        await broker.kill()
        assert what_is_there() == before
        await broker.close()

    asyncio.run(work())
