"""SIGTERM and Ctrl-C stop a broker's process; the ready line ends its start."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator

import pytest
from pybroker.broker.network.settings import Endpoint
from pybroker.broker.process.ready_line import ready_line
from pybroker.broker.process.stop_signals import StopSignals
from support.processes.broker_process import READY


@pytest.fixture
async def left() -> list[int]:
    """The exit codes with which the process would have been left."""
    return []


@pytest.fixture
async def signals(left: list[int]) -> AsyncIterator[StopSignals]:
    loop = asyncio.get_running_loop()
    yield StopSignals(loop, left.append)
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_asks_a_running_broker_to_stop(
    signals: StopSignals, left: list[int], number: signal.Signals
) -> None:
    signals.ready()
    os.kill(os.getpid(), number)
    await signals.told.wait()
    assert left == []


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
async def test_signal_during_the_start_ends_the_process_at_once(
    signals: StopSignals, left: list[int], number: signal.Signals, code: int
) -> None:
    signals.hear(number)
    assert left == [code]


async def test_ctrl_c_again_does_not_wait_for_the_stop(signals: StopSignals, left: list[int]) -> None:
    signals.ready()
    signals.hear(signal.SIGINT)
    assert left == []
    signals.hear(signal.SIGINT)
    assert left == [130]


async def test_second_sigterm_does_not_interrupt_the_stop(signals: StopSignals, left: list[int]) -> None:
    signals.ready()
    signals.hear(signal.SIGTERM)
    signals.hear(signal.SIGTERM)
    assert left == []
    assert signals.told.is_set()


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        ("127.0.0.1", "PLAINTEXT://127.0.0.1:9092"),
        ("broker-1", "PLAINTEXT://broker-1:9092"),
        ("::1", "PLAINTEXT://[::1]:9092"),
        ("", "PLAINTEXT://localhost:9092 (on every address of this machine)"),
        ("0.0.0.0", "PLAINTEXT://127.0.0.1:9092 (on every address of this machine)"),
        ("::", "PLAINTEXT://localhost:9092 (on every address of this machine)"),
    ],
)
def test_the_ready_line_names_an_address_that_can_be_copied(host: str, shown: str) -> None:
    line = ready_line([Endpoint("PLAINTEXT", host, 9092)])
    assert line == f"pybroker is ready: listening on {shown}"
    match = READY.search(line)
    assert match is not None
    assert match["port"] == "9092"


def test_the_ready_line_names_every_listener() -> None:
    line = ready_line([Endpoint("INTERNAL", "127.0.0.1", 9093), Endpoint("PLAINTEXT", "127.0.0.1", 9092)])
    assert line.endswith("INTERNAL://127.0.0.1:9093, PLAINTEXT://127.0.0.1:9092")


def test_the_ready_line_says_where_data_and_console_are_and_what_to_try() -> None:
    line = ready_line(
        [Endpoint("PLAINTEXT", "localhost", 9092)],
        [Endpoint("HTTP", "127.0.0.1", 8092)],
        data=["/data"],
        console="http://127.0.0.1:8093",
        is_first_try=True,
        is_local=True,
    )
    assert line == (
        "pybroker is ready: listening on PLAINTEXT://localhost:9092, HTTP://127.0.0.1:8092; data in /data; console at "
        "http://127.0.0.1:8093; only this machine reaches it, until you add --override listeners=PLAINTEXT://:9092; "
        "try: pybroker topics create demo"
    )


def test_the_command_to_try_names_an_address_that_is_not_the_default() -> None:
    line = ready_line([Endpoint("PLAINTEXT", "", 9093)], is_first_try=True)
    assert line.endswith("; try: pybroker topics create demo -b localhost:9093")
