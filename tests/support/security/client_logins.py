"""Runs the command `logins` of tests/interop/clients/README.md with each client."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from itertools import count
from pathlib import Path

from support.clients.foreign_clients import PROGRAMS, client_command, client_program, kcat_command
from support.processes.java_programs import java_program
from support.security.secured_listeners import Login

__all__ = ["CLIENTS", "Fact", "outcomes"]

Fact = dict[str, object]
_PYTHON = {"kafka-python": "kafka_python", "aiokafka": "aiokafka", "confluent-kafka": "confluent"}
CLIENTS = (*_PYTHON, "java-3.9.1", "java-4.1.1", "go", "node", "kcat")
_TESTS = Path(__file__).resolve().parents[2]
_runs = count()


def outcomes(client: str, logins: Sequence[Login]) -> dict[str, Fact]:
    """The facts that the client reported about each login, by the login's name. One process tries all logins."""
    run = f"{client}-{next(_runs)}"  # topics and groups of their own
    rows = "".join("\t".join(login.row(run)) + "\n" for login in logins)
    environment = {**os.environ, "PYTHONPATH": str(_TESTS)}
    done = subprocess.run(_command(client), input=rows, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    facts: list[Fact] = [json.loads(line) for line in done.stdout.splitlines()]
    return {str(fact.pop("login")): fact for fact in facts}


def _command(client: str) -> list[str]:
    programs = PROGRAMS / "logins"
    if client in _PYTHON:
        return [sys.executable, str(programs / f"{_PYTHON[client]}_logins.py")]
    if client == "kcat":
        return [sys.executable, str(programs / "kcat_logins.py"), kcat_command()]
    if client == "go":
        return [*client_command("go"), "logins"]
    if client == "node":
        return [*client_command("node")[:-1], str(PROGRAMS / "node" / "logins.js")]
    if client == "java-3.9.1":
        return java_program(PROGRAMS / "java" / "Logins.java")
    return client_program("Logins")
