"""A broker that all tests of a worker share, and its commands in this process."""

import pytest
from pybroker.broker.commands.command_line import main
from support.clients.commands import Pybroker, Ran
from support.clients.shared_broker import broker, servers, topic

__all__ = ["broker", "pybroker", "servers", "topic"]


@pytest.fixture
def pybroker(servers: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Pybroker:
    """Runs ``pybroker`` with these arguments against the broker, whose address is in PYBROKER_BOOTSTRAP."""
    monkeypatch.setenv("PYBROKER_BOOTSTRAP", servers)

    def run(*arguments: str) -> Ran:
        code = main(arguments)
        printed = capsys.readouterr()
        return Ran(code, printed.out, printed.err)

    return run
