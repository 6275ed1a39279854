"""``pybroker top`` on a pseudo-terminal: what it draws, what the keys do, and that it gives the terminal back."""

import os
import signal
import sys
from collections.abc import Iterator

import pytest
from support.clients.commands import run
from support.clients.produced import Produced, produce
from support.clients.terminal_screen import TerminalProgram
from support.processes.ports import free_port

_LEFT = "\x1b[?7h\x1b[?25h\x1b[?1049l"
"""The end of the output: line wrap, the cursor and the screen of before are back."""


def started(servers: str, *arguments: str, lines: int = 24) -> TerminalProgram:
    environment = {**os.environ, "TERM": "xterm", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "pybroker", "top", "-d", "0.1", "-b", servers, *arguments]
    return TerminalProgram(command, environment, lines=lines)


@pytest.fixture
def watched(servers: str) -> Iterator[TerminalProgram]:
    for name in ("watched-a", "watched-b"):
        run(servers, "topics", "create", name, "-p", "2", "--if-not-exists")
    with started(servers, "--filter", "watched") as program:
        yield program


def test_keys_filter_sort_pause_and_quit(servers: str, watched: TerminalProgram) -> None:
    lines = watched.until(lambda lines: lines[0].startswith("pybroker top  ") and "records/s written" in lines[1])
    assert watched.screen.modes == {"1049"}, "the second screen, without a cursor"
    assert "TOPIC" in next(line for line in lines if ">RECORDS/S" in line and "PARTS" in line)
    watched.type("t")
    assert "PARTS" in watched.until(lambda lines: "PARTS" in lines[2])[2]
    watched.type("/watched-b\r")
    lines = watched.until(lambda lines: "filter: watched-b" in lines[0])
    assert [line.split()[0] for line in lines[3:5] if line] == ["watched-b"]
    assert lines[3].endswith("  0 B")
    produce(servers, [Produced("watched-b", 0, -1, -1, None, b"value" * 1000)])
    assert watched.until(lambda lines: not lines[3].endswith("  0 B"))[3].endswith(" KiB")
    watched.type("ss")
    watched.until(lambda lines: ">OUT/S" in lines[2])
    watched.type("p")
    watched.until(lambda lines: "PAUSED" in lines[0])
    watched.type("q")
    assert watched.ended(_LEFT) == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_signals_give_the_terminal_back(watched: TerminalProgram, number: signal.Signals, code: int) -> None:
    watched.until(lambda lines: lines[0].startswith("pybroker top  "))
    if number == signal.SIGINT:
        watched.type("\x03")
    else:
        watched.send(number)
    assert watched.ended(_LEFT) == code
    assert watched.errors() == ""


def test_ctrl_z_lends_the_terminal_to_others(watched: TerminalProgram) -> None:
    watched.until(lambda lines: lines[0].startswith("pybroker top  "))
    watched.send(signal.SIGTSTP)
    watched.stopped(_LEFT)
    assert not watched.screen.modes & {"1049"}
    watched.send(signal.SIGCONT)
    watched.until(lambda _: "1049" in watched.screen.modes)
    watched.type("q")
    assert watched.ended(_LEFT) == 0


def test_cluster_that_is_not_there_gives_the_terminal_back_and_one_line() -> None:
    with started(f"127.0.0.1:{free_port()}", "--timeout", "1") as program:
        assert program.ended(_LEFT) == 1
        assert program.errors().count("\n") == 1
