"""A member of a consumer group as a program of tests/interop/clients."""

import json
import subprocess
from collections.abc import Sequence

from support.clients.group_members import Member, Membership

__all__ = ["ForeignMember"]


class ForeignMember(Member):
    """A member. `command` is the program's `member` command; it leaves when its standard input is closed."""

    def __init__(self, membership: Membership, command: Sequence[str]) -> None:
        super().__init__(membership)
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.thread.start()

    def leave(self) -> None:
        self.present = False
        assert self._process.stdin is not None
        self._process.stdin.close()

    def consume(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as output:
            for line in output:
                fact = json.loads(line)
                if "owned" in fact:
                    self.note_owned(fact["owned"])
                else:
                    self.note_read([(fact["partition"], fact["offset"])])
        exit_code = self._process.wait()
        assert (self.present, exit_code) == (False, 0), "it ended by itself, or badly"
