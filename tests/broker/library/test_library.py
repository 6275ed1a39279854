"""Brokers inside another program: ``from pybroker import Broker``, by ``async with`` and by ``with``."""

import asyncio
import signal
import socket
import sqlite3
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any, ClassVar

import pytest
import uvloop
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from pybroker import Broker
from pybroker.broker.start_error import StartError
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from pybroker.storage.store.log_store import LogStore
from support.processes.process_state import open_descriptors

Work = Callable[[], Coroutine[Any, Any, None]]
CLEAN_STOP = ".kafka_cleanshutdown"


@pytest.fixture(scope="module")
def uvloop_has_run() -> None:
    """Runs uvloop once: the first loop in a process opens a pipe for signals that it keeps."""

    async def nothing() -> None:
        pass

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(nothing())


@pytest.fixture(autouse=True)
def nothing_is_left(uvloop_has_run: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Checks after every test that no threads, sockets, files or temporary directories are left."""
    directory = tmp_path / "temporary"
    directory.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(directory))
    threads, descriptors = set(threading.enumerate()), open_descriptors()
    yield
    assert set(threading.enumerate()) <= threads  # one that a test before has left may end meanwhile
    assert open_descriptors() == descriptors
    assert list(directory.iterdir()) == []


@pytest.fixture(params=[uvloop.new_event_loop, asyncio.new_event_loop], ids=["uvloop", "asyncio"])
def run(request: pytest.FixtureRequest) -> Callable[[Work], None]:
    """Runs a coroutine function on a new loop, of either kind; what it leaves running is a failure."""

    def run_work(work: Work) -> None:
        async def and_look_around() -> None:
            await work()
            assert asyncio.all_tasks() == {asyncio.current_task()}

        with asyncio.Runner(loop_factory=request.param) as runner:
            runner.run(and_look_around())

    return run_work


def produce(bootstrap_servers: str, topic: str, *values: bytes) -> None:
    with closing(KafkaProducer(bootstrap_servers=bootstrap_servers, acks="all")) as producer:
        for value in values:
            producer.send(topic, value, partition=0).get(30)


def consume(bootstrap_servers: str, topic: str, count: int) -> list[bytes]:
    """The first ``count`` values of partition 0."""
    partition = TopicPartition(topic, 0)
    with closing(KafkaConsumer(bootstrap_servers=bootstrap_servers, auto_offset_reset="earliest")) as consumer:
        consumer.assign([partition])
        return [next(consumer).value for _ in range(count)]


def listens(bootstrap_servers: str) -> bool:
    host, _, port = bootstrap_servers.rpartition(":")
    try:
        socket.create_connection((host, int(port))).close()
    except ConnectionRefusedError:
        return False
    return True


# -- async with


def test_a_client_on_the_same_loop_produces_and_consumes(run: Callable[[Work], None]) -> None:
    async def work() -> None:
        async with Broker() as broker:
            producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
            await producer.start()
            await producer.send_and_wait("events", b"one")
            await producer.stop()
            consumer = AIOKafkaConsumer(
                "events", bootstrap_servers=broker.bootstrap_servers, group_id="readers", auto_offset_reset="earliest"
            )
            await consumer.start()
            assert (await consumer.getone()).value == b"one"
            await consumer.stop()

    run(work)


def test_clients_reconnect_after_a_kill_and_find_acknowledged_records() -> None:
    """On asyncio's loop alone: on uvloop's, aiokafka takes a write to a connection just lost for the end."""

    async def work() -> None:
        async with Broker() as broker:
            servers = broker.bootstrap_servers
            producer = AIOKafkaProducer(bootstrap_servers=servers, acks="all")
            await producer.start()
            consumer = AIOKafkaConsumer(
                "events", bootstrap_servers=servers, group_id="readers", auto_offset_reset="earliest"
            )
            await consumer.start()
            await producer.send_and_wait("events", b"before")
            assert (await consumer.getone()).value == b"before"
            await consumer.commit()
            await broker.kill()
            await broker.start()
            assert broker.bootstrap_servers == servers
            await producer.send_and_wait("events", b"after")
            assert (await consumer.getone()).value == b"after"
            await producer.stop()
            await consumer.stop()

    asyncio.run(work())


def test_a_kill_leaves_no_mark_of_a_clean_stop(run: Callable[[Work], None]) -> None:
    async def work() -> None:
        async with Broker() as broker:
            await broker.kill()
            assert not broker.is_running
            assert not (broker.data_directory / CLEAN_STOP).exists()
            await broker.restart()
            await broker.stop()
            assert (broker.data_directory / CLEAN_STOP).exists()

    run(work)


def test_kill_frees_directory_and_port_without_being_awaited(run: Callable[[Work], None], tmp_path: Path) -> None:
    async def work() -> None:
        async with Broker({"log.dirs": str(tmp_path / "data")}) as first:
            first.kill()
            async with Broker(first.config) as second:
                assert second.bootstrap_servers == first.bootstrap_servers

    run(work)


def test_a_killed_broker_resets_its_connections(run: Callable[[Work], None]) -> None:
    async def work() -> None:
        async with Broker() as broker:
            host, _, port = broker.bootstrap_servers.rpartition(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            # Half a request: the broker has taken the connection when it has read it.
            writer.write(b"\0\0\0\x20")
            await writer.drain()
            await until_connected(broker)
            await broker.kill()
            with pytest.raises(ConnectionResetError):
                await reader.read()
            writer.close()

    run(work)


async def until_connected(broker: Broker) -> None:
    """Until one of the broker's own answers shows that it has taken the connections before."""
    producer = AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    await producer.start()
    await producer.stop()


def test_a_broker_on_another_loops_thread_is_killed_from_here() -> None:
    broker = Broker()
    with broker:
        broker.kill()
        assert not broker.is_running
        assert not listens(broker.bootstrap_servers)


def test_broker_leaves_the_signal_handlers_of_the_program_unchanged(run: Callable[[Work], None]) -> None:
    async def work() -> None:
        before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
        async with Broker():
            assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before

    run(work)


def test_broker_that_cannot_continue_is_killed_with_a_reason(run: Callable[[Work], None]) -> None:
    async def work() -> None:
        async with Broker() as broker:
            assert broker._server is not None
            reason = RuntimeError("an invariant is broken")
            broker._server._fail(reason)
            await asyncio.sleep(0)
            assert broker.failure is reason
            assert not broker.is_running

    run(work)


# -- with


def test_broker_in_a_plain_with_serves_code_without_an_event_loop() -> None:
    with Broker() as broker:
        produce(broker.bootstrap_servers, "events", b"one", b"two")
        assert consume(broker.bootstrap_servers, "events", 2) == [b"one", b"two"]
        servers = broker.bootstrap_servers
    assert not listens(servers)


async def test_broker_in_a_plain_with_works_inside_a_running_event_loop() -> None:
    """The broker's own loop is in a thread, so blocking this loop does not block it."""
    with Broker() as broker:
        produce(broker.bootstrap_servers, "events", b"one")


def test_brokers_side_by_side_share_nothing() -> None:
    with Broker() as first, Broker() as second:
        assert first.bootstrap_servers != second.bootstrap_servers
        assert first.data_directory != second.data_directory
        produce(first.bootstrap_servers, "events", b"first")
        produce(second.bootstrap_servers, "events", b"second")
        first.kill()
        assert consume(second.bootstrap_servers, "events", 1) == [b"second"]
        first.start()
        assert consume(first.bootstrap_servers, "events", 1) == [b"first"]


def test_a_killed_broker_recovers_what_was_acknowledged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with Broker() as broker:
        servers = broker.bootstrap_servers
        produce(servers, "events", b"one", b"two")
        broker.kill()
        assert not broker.is_running
        assert not listens(servers)
        assert not (broker.data_directory / CLEAN_STOP).exists()
        broker.restart()
        assert broker.bootstrap_servers == servers
        assert "the last stop was not clean" in caplog.text
        assert consume(servers, "events", 2) == [b"one", b"two"]


def test_restart_stops_the_broker_cleanly(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    with Broker() as broker:
        produce(broker.bootstrap_servers, "events", b"one")
        broker.stop()
        assert (broker.data_directory / CLEAN_STOP).exists()
        broker.restart()
        assert consume(broker.bootstrap_servers, "events", 1) == [b"one"]
    assert "not clean" not in caplog.text


def test_data_in_a_given_directory_survives_the_broker(tmp_path: Path) -> None:
    settings = {"log.dirs": str(tmp_path / "data")}
    with Broker(settings) as first:
        produce(first.bootstrap_servers, "events", b"one")
    assert (tmp_path / "data" / CLEAN_STOP).exists()
    with Broker(settings) as second:
        assert second.data_directory == tmp_path / "data"
        assert consume(second.bootstrap_servers, "events", 1) == [b"one"]


class _ToldConnection(sqlite3.Connection):
    """Remembers the statements of all connections."""

    told: ClassVar[list[str]] = []

    def execute(self, sql: str, *parameters: Any) -> sqlite3.Cursor:
        self.told.append(sql)
        return super().execute(sql, *parameters)


@pytest.mark.parametrize(("is_named", "synchronous"), [(True, "FULL"), (False, "OFF")])
def test_only_data_in_a_given_directory_is_worth_waiting_for_the_disk(
    is_named: bool, synchronous: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_ToldConnection, "told", [])
    monkeypatch.setattr(sqlite3, "connect", partial(sqlite3.connect, factory=_ToldConnection))
    with Broker({"log.dirs": tmp_path / "data"} if is_named else {}) as broker:
        broker.restart()
    assert {told for told in _ToldConnection.told if "synchronous" in told} == {f"PRAGMA synchronous = {synchronous}"}


def test_the_same_broker_is_used_again_as_new() -> None:
    broker = Broker()
    with broker as blocking:
        produce(blocking.bootstrap_servers, "events", b"one")
        first_directory = blocking.data_directory
    assert not first_directory.exists()
    with broker as blocking:
        assert not (blocking.data_directory / "events-0").exists()


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_start_in_another_thread_is_ended_from_here(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    """The start loads the logs in a worker, which waits until the end has begun."""
    loading = threading.Event()
    load, give_up = LogStore.load, LogStore.give_up_loading
    given_up = threading.Event()

    def slow_load(logs: LogStore, *arguments: Any) -> None:
        loading.set()
        given_up.wait()
        load(logs, *arguments)

    def tell_and_give_up(logs: LogStore) -> None:
        give_up(logs)
        given_up.set()

    with Broker() as broker:
        produce(broker.bootstrap_servers, "events", b"one")
        broker.stop()
        monkeypatch.setattr(LogStore, "load", slow_load)
        monkeypatch.setattr(LogStore, "give_up_loading", tell_and_give_up)
        with ThreadPoolExecutor(1) as elsewhere:
            start = elsewhere.submit(broker.start)
            loading.wait()
            assert not broker.is_running
            getattr(broker, end)()
            with pytest.raises(StartError, match="while it was starting"):
                start.result()
        assert not broker.is_running
        assert not listens(broker.bootstrap_servers)
        broker.restart()
        assert consume(broker.bootstrap_servers, "events", 1) == [b"one"]


def test_stop_and_kill_after_the_with_block_do_nothing() -> None:
    with Broker() as broker:
        pass
    broker.stop()
    broker.kill()
    with pytest.raises(RuntimeError, match="is over"):
        broker.start()


def test_broker_is_killed_while_its_event_loop_is_blocked() -> None:
    broker = Broker()
    with asyncio.Runner() as runner:
        runner.run(broker.start())
        broker.kill()
        assert not listens(broker.bootstrap_servers)
        runner.run(broker.close())


def test_stop_and_kill_of_a_stopped_broker_do_nothing() -> None:
    with Broker() as broker:
        broker.stop()
        broker.stop()
        broker.kill()
        assert not broker.is_running


def test_an_error_inside_the_with_goes_through() -> None:
    with pytest.raises(ZeroDivisionError), Broker():
        raise ZeroDivisionError


# -- settings and errors


def test_settings_are_a_config_or_a_mapping_and_what_they_leave_out_is_chosen(tmp_path: Path) -> None:
    data = str(tmp_path / "data")
    for given in (
        load_config("", {"log.dirs": data, "num.partitions": "3"}),
        {"log.dirs": data, "num.partitions": "3"},
    ):
        with Broker(given) as broker:
            assert broker.config.int("num.partitions") == 3
            assert broker.config.log_dirs == (data,)
            assert broker.bootstrap_servers.startswith("127.0.0.1:")
            assert str(broker.config.listeners()[0]) == f"PLAINTEXT://{broker.bootstrap_servers}"


def test_a_listener_of_every_address_is_named_so_that_it_can_be_reached() -> None:
    with Broker({"listeners": "PLAINTEXT://:0"}) as broker:
        assert broker.bootstrap_servers.startswith("localhost:")
        produce(broker.bootstrap_servers, "events", b"one")


def test_bad_settings_are_refused_before_anything_is_opened() -> None:
    with pytest.raises(ConfigError, match=r"^num\.io\.threads=many \(given to Broker\): must be a whole number"):
        Broker({"num.io.threads": "many"})


@pytest.mark.parametrize("value", [None, ["a", "b"], b"a"])
def test_setting_value_of_an_unsupported_type_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError, match=r"^log\.dirs \(given to Broker\): .* is not a string, number or path$"):
        Broker({"log.dirs": value})


@pytest.mark.parametrize("settings", ["", "server.properties", Path("server.properties"), 0])
def test_settings_that_are_no_mapping_are_refused(settings: Any) -> None:
    with pytest.raises(TypeError, match="takes a Config or a mapping of settings"):
        Broker(settings)


def test_setting_value_may_be_a_path(tmp_path: Path) -> None:
    assert Broker({"log.dirs": tmp_path}).config.log_dirs == (str(tmp_path),)


def test_unknown_setting_in_a_mapping_is_refused() -> None:
    with pytest.raises(ConfigError) as refused:
        Broker({"num.partition": 3, "retention.ms": 5, "num.partitions": 3})
    assert str(refused.value) == (
        "num.partition (given to Broker): there is no such setting; did you mean num.partitions?; "
        "retention.ms (given to Broker): it is a setting of topics; the broker's default for topics is "
        "log.retention.ms"
    )


def test_unknown_setting_in_a_file_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    Broker(load_config("num.partition=3"))
    assert [record.getMessage() for record in caplog.records] == [
        "num.partition (settings line 1) is ignored: there is no such setting; did you mean num.partitions?"
    ]


def test_a_setting_that_does_not_do_what_it_says_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    Broker({"num.network.threads": 3, "num.partitions": 3})
    (record,) = caplog.records
    assert record.getMessage().startswith("num.network.threads (given to Broker) has no effect: ")


def test_a_port_in_use_is_a_start_error_and_leaves_nothing() -> None:
    with Broker() as first, pytest.raises(StartError, match="in use"):
        Broker({"listeners": f"PLAINTEXT://{first.bootstrap_servers}"}).__enter__()


def test_a_directory_in_use_is_a_start_error_and_free_after_a_kill(run: Callable[[Work], None], tmp_path: Path) -> None:
    async def work() -> None:
        settings = {"log.dirs": str(tmp_path / "data")}
        async with Broker(settings) as first:
            second = Broker(settings)
            with pytest.raises(StartError, match="in use by another broker"):
                await second.start()
            assert not second.is_running
            first.kill()
            await second.start()
            await second.close()

    run(work)


def test_a_second_start_is_refused(run: Callable[[Work], None]) -> None:
    async def work() -> None:
        async with Broker() as broker:
            with pytest.raises(RuntimeError, match="already running"):
                await broker.start()

    run(work)


def test_attributes_of_a_broker_that_was_not_started_raise_a_clear_error() -> None:
    broker = Broker()
    with pytest.raises(RuntimeError, match="was not started"):
        _ = broker.bootstrap_servers
    with pytest.raises(RuntimeError, match="was not started"):
        _ = broker.data_directory
