"""Commands on a terminal of 80 columns, and with NO_COLOR."""

import os
import pty
import subprocess
import sys

import pytest
from support.clients.commands import Pybroker


def on_terminal(*arguments: str, **environment: str) -> str:
    """The output of a command whose standard output is a terminal."""
    ours, its = pty.openpty()
    given = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80", **environment}
    process = subprocess.Popen([sys.executable, "-m", "pybroker", *arguments], stdout=its, env=given)
    os.close(its)
    printed = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # Linux reports the end of a terminal as an error
            break
        if not piece:
            break
        printed += piece
    os.close(ours)
    assert process.wait() == 0
    return printed.decode().replace("\r\n", "\n")


@pytest.mark.parametrize("environment", [{}, {"NO_COLOR": "1"}])
def test_terminal_gets_the_table_that_a_pipe_gets(
    servers: str, pybroker: Pybroker, topic: str, environment: dict[str, str]
) -> None:
    assert pybroker("topics", "create", topic, "-p", "2", "--wait").code == 0
    asked = ("topics", "offsets", topic, "-b", servers)
    shown = on_terminal(*asked, **environment)
    assert shown == pybroker(*asked).out
    assert "\x1b" not in shown
