"""Members of a share group as processes of Kafka's Java client, and the account of each record."""

import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from support.clients.foreign_clients import PROGRAMS
from support.processes.java_programs import java_program
from support.time.patience import HANGS_AFTER_S, await_thread

__all__ = ["ShareMemberProcess", "ShareMembers"]

Place = tuple[int, int]
"""Partition and offset."""
FINAL = ("accept", "reject")


class ShareMemberProcess:
    """A process of `ShareMember.java`, and what it has told."""

    def __init__(self, command: list[str], changed: threading.Condition) -> None:
        self.reads: list[tuple[Place, int]] = []
        """Each delivered record with its delivery count."""
        self.confirmed: Counter[Place] = Counter()
        """How often the broker confirmed that the record was accepted or rejected."""
        self.attempted: set[Place] = set()
        """The records that the member accepted or rejected, whether the broker heard of it or not."""
        self.output: list[str] = []
        self._types: dict[Place, str] = {}
        self._changed = changed
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self._reader = threading.Thread(target=self._read_output, daemon=True)
        self._reader.start()

    def pause(self) -> None:
        self._process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """Kill the process, and wait until all of its output is known."""
        self._process.kill()
        await_thread(self._reader, "the end of a killed member")

    def leave(self) -> None:
        """Have the member leave its group, and wait until it has ended."""
        self._process.terminate()
        await_thread(self._reader, "the end of a member that was to leave")

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                with self._changed:
                    self._note(line.split())
                    self._changed.notify_all()
        self._process.wait()

    def _note(self, words: list[str]) -> None:
        match words:
            case ["read", partition, offset, deliveries, kind]:
                place = (int(partition), int(offset))
                self.reads.append((place, int(deliveries)))
                self._types[place] = kind
                if kind in FINAL:
                    self.attempted.add(place)
            case ["told", partition, error, offsets]:
                for offset in offsets.split(","):
                    place = (int(partition), int(offset))
                    if error == "none" and self._types[place] in FINAL:
                        self.confirmed[place] += 1
            case _:
                self.output.append(" ".join(words))


class ShareMembers:
    """Starts members of one group with the jars in ``libs``. Leaving the context kills them."""

    def __init__(self, servers: str, group: str, topic: str, libs: Path) -> None:
        self._program = java_program(PROGRAMS / "members" / "ShareMember.java", libs)
        self._arguments = [servers, group, topic]
        self._changed = threading.Condition()
        self.all: list[ShareMemberProcess] = []

    def start(self, mode: str) -> ShareMemberProcess:
        """``mode``: "implicit" or "explicit"."""
        self.all.append(ShareMemberProcess([*self._program, *self._arguments, mode], self._changed))
        return self.all[-1]

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait for a condition on what members told."""
        with self._changed:
            came = self._changed.wait_for(condition, HANGS_AFTER_S)
        assert came, [(len(each.reads), each.output[-20:]) for each in self.all]

    def done(self) -> set[Place]:
        """The records that a member accepted or rejected, confirmed or not."""
        return set().union(*(each.attempted for each in self.all))

    def confirmations(self) -> Counter[Place]:
        return sum((each.confirmed for each in self.all), Counter())

    def __enter__(self) -> "ShareMembers":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self.all:
            member.kill()
