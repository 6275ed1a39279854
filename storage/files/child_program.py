"""Child processes of the broker that run one of its modules: the same Python, and the same path to import from.

They are spawned, never forked: the broker has threads.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from subprocess import Popen

__all__ = ["command_of", "end_process"]

_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main()"


def command_of(module: str) -> list[str]:
    """The command that runs ``main()`` of a module, given by its full name."""
    return [sys.executable, "-c", _START.format(module=module), json.dumps(sys.path)]


def end_process(process: Popen[bytes] | Popen[str]) -> None:
    """Kill it, and let go of its pipes. Blocks until it is gone."""
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(OSError):  # what was not written yet has no reader any more
                pipe.close()
