"""The clients of an audit as processes, which are killed, started again, or left behind as zombies."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import NamedTuple

from support.processes.java_programs import java_program

from transaction_audit.writing import Arguments

__all__ = ["Client", "ClientKind", "Clients"]

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[1]
_TESTS_AND_SCRIPTS = f"{_ROOT / 'tests'}:{_ROOT / 'scripts'}"
_HANGS_AFTER_S = 60.0
"""A client that writes nothing to its journal for so long is killed."""
_ZOMBIE_SHARE = 0.3
_END_S = 60.0


class ClientKind(NamedTuple):
    """A library ("librdkafka", "kafka-python" or "Java"), and whether the client writes or copies."""

    library: str
    work: str

    @property
    def command(self) -> list[str]:
        if self.library == "Java":
            return [*java_program(_HERE / "JavaClient.java"), self.work]
        module = f"{self.library.replace('-', '_')}_client"
        return [sys.executable, "-m", f"transaction_audit.{module}", self.work]


@dataclass
class Client:
    """The processes of one transactional id, one after another; a zombie may be left of an earlier one."""

    kind: ClientKind
    transactional_id: str
    random: Random
    journals: list[Path] = field(default_factory=list)
    processes: list["subprocess.Popen[bytes]"] = field(default_factory=list)
    ends_s: float = 0.0
    """When the newest process is killed or gets a successor."""
    is_over: bool = False
    """It has been told to end."""


class Clients:
    """Keeps the clients running. `topics`: where writers write, and where copiers copy to."""

    def __init__(
        self, servers: str, topics: tuple[str, str], partitions: int, directory: Path, lives_s: tuple[float, float]
    ) -> None:
        """`lives_s`: the shortest and the longest time until a process is killed or gets a successor."""
        self._servers = servers
        self._topics = topics
        self._partitions = partitions
        self._directory = directory
        self._lives_s = lives_s
        self.all: list[Client] = []
        self.kills = 0
        self.zombies = 0
        self.hangs: list[str] = []
        directory.mkdir(parents=True)

    def add(self, kind: ClientKind, random: Random) -> None:
        name = f"{kind.work}-{kind.library}-{len(self.all)}"
        client = Client(kind, name, random)
        self.all.append(client)
        self._start(client)

    def look(self) -> None:
        """Starts the clients that have ended, and kills those whose time is over."""
        for client in self.all:
            if client.is_over:
                continue
            newest = client.processes[-1]
            has_ended = newest.poll() is not None
            if not has_ended and self._hangs(client):
                self.hangs.append(client.journals[-1].stem)
                newest.kill()
                has_ended = True
            if not has_ended and time.monotonic() < client.ends_s:
                continue
            self._end_older(client)
            if not has_ended:
                if client.random.random() < _ZOMBIE_SHARE:
                    self.zombies += 1
                else:
                    self.kills += 1
                    newest.kill()
            self._start(client)

    def end(self, work: str) -> None:
        """Lets all clients with this work end their transaction, and waits for them; kills those that do not end."""
        ending = [client for client in self.all if client.kind.work == work]
        for client in ending:
            client.is_over = True
            self._end_older(client)
            stdin = client.processes[-1].stdin
            assert stdin is not None
            try:
                stdin.write(b"end\n")
                stdin.flush()
            except BrokenPipeError:
                continue
        until_s = time.monotonic() + _END_S
        for client in ending:
            try:
                client.processes[-1].wait(max(0.1, until_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                self.hangs.append(client.journals[-1].stem)
        self._kill(ending)

    def kill(self) -> None:
        self._kill(self.all)

    def _kill(self, clients: list[Client]) -> None:
        for client in clients:
            for process in client.processes:
                process.kill()
                process.wait()
                if process.stdin is not None:
                    process.stdin.close()

    def _end_older(self, client: Client) -> None:
        for process in client.processes[:-1]:
            process.kill()
            process.wait()

    def _hangs(self, client: Client) -> bool:
        """Only a writer always has something to do."""
        journal = client.journals[-1]
        if client.kind.work != "write" or not journal.exists():
            return False
        return time.time() - journal.stat().st_mtime > _HANGS_AFTER_S

    def _start(self, client: Client) -> None:
        journal = self._directory / f"{client.transactional_id}-{len(client.journals)}.journal"
        client.journals.append(journal)
        topic, output = self._topics
        arguments = Arguments(
            self._servers,
            topic,
            self._partitions,
            client.transactional_id,
            str(journal),
            output if client.kind.work == "copy" else "",
        )
        with journal.with_suffix(".log").open("wb") as log:
            client.processes.append(
                subprocess.Popen(
                    [*client.kind.command, *map(str, arguments)],
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    env={**os.environ, "PYTHONPATH": _TESTS_AND_SCRIPTS},
                )
            )
        client.ends_s = time.monotonic() + client.random.uniform(*self._lives_s)
