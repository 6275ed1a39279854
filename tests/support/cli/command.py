"""Runs a command of ``pybroker`` in this process, and checks what it prints as JSON."""

import io
import json
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from typing import Any

import jsonschema_rs
from pybroker.broker.commands.command_line import main
from pybroker.views.schema import Schemas

__all__ = ["Ran", "checked_json", "run"]


@dataclass(frozen=True)
class Ran:
    """The output of a command, and its exit code."""

    code: int
    out: str
    err: str


def run(servers: str, *arguments: str) -> Ran:
    """Run a command against the brokers at ``servers``."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = main([*arguments, "-b", servers])
    return Ran(code, out.getvalue(), err.getvalue())


def checked_json(servers: str, view: type, *arguments: str) -> Sequence[Any]:
    """The rows that a command prints with ``-o json``. Each must fit the schema of ``view``."""
    ran = run(servers, *arguments, "-o", "json")
    assert not ran.code, ran.err
    schemas = Schemas()
    reference = schemas.reference(view)
    validator = jsonschema_rs.Draft202012Validator({**reference, "components": {"schemas": schemas.named}})
    rows = json.loads(ran.out)
    for row in rows:
        validator.validate(row)
    assert isinstance(rows, list)
    return rows
