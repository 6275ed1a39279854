"""Commands of ``pybroker`` that run in this process, and the shapes of what they print."""

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
from pybroker.broker.commands.command_line import main
from pybroker.views.schema import Schemas

__all__ = ["Pybroker", "Ran", "checked_json", "rows_of", "run"]


@dataclass(frozen=True)
class Ran:
    """The output and the exit code of a command."""

    code: int
    out: str
    err: str


Pybroker = Callable[..., Ran]
"""Runs a command with these arguments."""


class _Terminal(io.TextIOWrapper):
    def isatty(self) -> bool:
        return True


def run(servers: str, *arguments: str, is_terminal: bool = False) -> Ran:
    """Run a command against the brokers at ``servers``. ``is_terminal``: what its standard output says of itself."""
    kind = _Terminal if is_terminal else io.TextIOWrapper
    out, err = kind(io.BytesIO(), "utf-8", newline=""), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*arguments, "-b", servers])
    out.seek(0)
    return Ran(code, out.read(), err.getvalue())


def checked_json(servers: str, shape: type, *arguments: str) -> list[dict[str, Any]]:
    """The rows that a command prints with ``-o json``; there may be none. Each must have the given shape."""
    ran = run(servers, *arguments, "-o", "json")
    assert not ran.code, ran.err
    return rows_of(ran.out, shape, least=0)


def rows_of(text: str, shape: type, *, least: int = 1) -> list[dict[str, Any]]:
    """The rows of a JSON array that a command printed. Each must have the given shape; ``least``: so many or more."""
    schemas = Schemas()
    schema = {
        "type": "array",
        "minItems": least,
        "items": schemas.reference(shape),
        "components": {"schemas": schemas.named},
    }
    rows: list[dict[str, Any]] = json.loads(text)
    jsonschema_rs.validator_for(schema).validate(rows)
    return rows
