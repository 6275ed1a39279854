"""Members of consumer groups as processes, which can be killed or fail by themselves."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING

import pytest
from support.clients.foreign_clients import PROGRAMS
from support.processes.java_programs import java_program
from support.processes.kafka_versions import libs_of
from support.time.patience import HANGS_AFTER_S, await_thread

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

__all__ = ["CLIENTS", "MemberProcess", "Members", "mostly"]

CLIENTS = ("java", "confluent", "kafka-python")
Place = tuple[str, int]
"""Topic and partition."""


def mostly(*usual: str) -> "list[ParameterSet]":
    """Returns all clients as the parameters of a test, of which only `usual` run outside of long runs."""
    return [pytest.param(client, marks=() if client in usual else pytest.mark.long) for client in CLIENTS]


def _member_command(client: str) -> list[str]:
    if client == "java":
        return java_program(PROGRAMS / "members" / "Member.java")
    if client.startswith("java "):
        return java_program(PROGRAMS / "members" / "ConsumerMember.java", libs_of(client.removeprefix("java ")))
    return [sys.executable, str(PROGRAMS / "members" / f"{client.replace('-', '_')}_member.py")]


class MemberProcess:
    """A member process and the events it has reported."""

    def __init__(self, client: str, command: list[str], change: Callable[[Callable[[], None]], None]) -> None:
        self.client = client
        self.assigned: list[set[Place]] = []
        self.taken: list[set[Place]] = []
        """Partitions revoked or lost, one set for each event."""
        self.owned: set[Place] = set()
        self.read: list[str] = []
        self.error: str | None = None
        self.is_told_to_end = False
        self.has_ended = False
        self._change = change
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._other_lines: list[str] = []
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()

    def kill(self) -> None:
        """Kills by SIGKILL, without a LeaveGroup; returns when it is gone."""
        self.is_told_to_end = True
        self._process.kill()
        await_thread(self._reader, "the end of a killed member")

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def leave(self) -> None:
        """Makes the member leave; returns when it has closed its consumer and ended."""
        self.is_told_to_end = True
        self._process.terminate()
        await_thread(self._reader, f"the end of a member that was to leave, it said {self.output!r}")

    @property
    def output(self) -> str:
        """Returns its output other than events: error messages."""
        return "".join(self._other_lines[-40:])

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                if line.startswith('{"event"'):
                    event = json.loads(line)
                    self._change(lambda event=event: self._note(event))  # type: ignore[misc]
                else:
                    self._other_lines.append(line)
        self._process.wait()
        self._change(lambda: setattr(self, "has_ended", True))

    def _note(self, event: Mapping[str, object]) -> None:
        match event:
            case {"event": "assigned", "partitions": list(pairs)}:
                places = {(topic, partition) for topic, partition in pairs}
                self.assigned.append(places)
                self.owned |= places
            case {"event": "revoked" | "lost", "partitions": list(pairs)}:
                places = {(topic, partition) for topic, partition in pairs}
                if places:
                    self.taken.append(places)
                self.owned -= places
            case {"event": "read", "value": str(value)}:
                self.read.append(value)
            case {"event": "failed", "error": str(error)}:
                self.error = error


class Members:
    """Starts members of one group and waits for their events. Leaving the context kills the remaining ones."""

    def __init__(self, servers: str, group: str) -> None:
        self._servers = servers
        self._group = group
        self._all: list[MemberProcess] = []
        self._known_ends: set[MemberProcess] = set()
        self._changed = threading.Condition()

    def start(self, client: str, subscription: str, **settings: object) -> MemberProcess:
        """Starts a member. `settings` of the consumer have `_` for dots. `client`: one of CLIENTS, or "java 4.2.0" for
        the consumer protocol with that release's jars."""
        pairs = [f"{name.replace('_', '.')}={value}" for name, value in settings.items() if value is not None]
        command = [*_member_command(client), self._servers, self._group, subscription, *pairs]
        member = MemberProcess(client, command, self._change)
        self._all.append(member)
        return member

    def shares(self) -> list[int]:
        """Returns the number of partitions of each running member once no two own the same; else nothing."""
        owned = [member.owned for member in self._all if not member.has_ended]
        return sorted(map(len, owned)) if sum(map(len, owned)) == len(set().union(*owned)) else []

    def kill_all(self) -> None:
        for member in self._all:
            member.kill()

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Waits for the condition; fails if a member ends by itself before."""
        with self._changed:
            came = self._changed.wait_for(lambda: condition() or self._missed(), HANGS_AFTER_S)
            assert came, f"not after {HANGS_AFTER_S} s: {[_last_words(one) for one in self._all]}"
            assert condition(), "\n".join(map(_last_words, self._missed()))
            self._known_ends |= {member for member in self._all if member.has_ended}

    def _missed(self) -> list[MemberProcess]:
        return [one for one in self._all if one.has_ended and not one.is_told_to_end and one not in self._known_ends]

    def _change(self, step: Callable[[], None]) -> None:
        with self._changed:
            step()
            self._changed.notify_all()

    def __enter__(self) -> "Members":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill_all()


def _last_words(member: MemberProcess) -> str:
    return f"the {member.client} member ended with {member.error}\n{member.output}"
