"""Runs the commands with transactions of clients/README.md in other languages."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from support.clients.foreign_clients import PROGRAMS, client_command, client_program
from support.processes.java_programs import java_program

__all__ = ["HeldTransaction", "Transactor"]

Facts = list[dict[str, object]]


def _command(client: str) -> list[str]:
    if client == "java-3.9.1":
        return java_program(PROGRAMS / "java" / "Transactor.java")
    if client == "java-4.1.1":
        return client_program("Transactor")
    return client_command(client)


class HeldTransaction:
    """An open transaction with one record, of a process that tries to commit it when it is told to."""

    def __init__(self, process: "subprocess.Popen[str]", offset: int) -> None:
        self.offset = offset
        """Offset of the record in partition 0."""
        self._process = process

    def commit(self) -> bool:
        """Lets the process commit; returns whether that succeeded."""
        told, complaints = self._process.communicate()
        assert self._process.returncode == 0, told + complaints
        return bool(json.loads(told)["committed"])


class Transactor:
    """A client: "java-3.9.1", "java-4.1.1", "go" or "node"."""

    def __init__(self, client: str, servers: str) -> None:
        self._command = _command(client)
        self._servers = servers

    def transact(self, topic: str, transactional_id: str, first: int, amount: int, *, commits: bool = True) -> Facts:
        """Sends `value-FIRST` and so on in one transaction; returns the place of each record."""
        return self._run("transact", topic, transactional_id, first, amount, "commit" if commits else "abort")

    def copy(self, source: str, target: str, group: str, transactional_id: str, amount: int) -> int:
        """Copies at least `amount` committed records as a member of the group; returns how many."""
        facts = self._run("copy", source, target, group, transactional_id, amount)
        return sum(int(str(fact["copied"])) for fact in facts)

    @contextmanager
    def hold(self, topic: str, transactional_id: str, timeout_ms: int = 60_000) -> Iterator[HeldTransaction]:
        """Yields an open transaction; its process is killed at the end if it still runs."""
        with subprocess.Popen(
            self._line("hold", topic, transactional_id, timeout_ms),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            try:
                assert process.stdout is not None
                sent = process.stdout.readline()
                assert sent, process.communicate()[1]
                yield HeldTransaction(process, json.loads(sent)["offset"])
            finally:
                process.kill()

    def _run(self, command: str, *arguments: object) -> Facts:
        done = subprocess.run(self._line(command, *arguments), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return [json.loads(fact) for fact in done.stdout.splitlines()]

    def _line(self, command: str, *arguments: object) -> list[str]:
        return [*self._command, command, self._servers, *map(str, arguments)]
