"""Finds variables of a container that its shell dropped, such as ``KAFKA_LISTENER_NAME_SECURE_SCRAM-SHA-512_…``.

Why: some shells, such as Debian's, pass on no variable whose name is not a name of the shell. Scripts of testcontainers
set such variables and start the broker from a shell.
How: the first process of the container is that shell, and Linux tells with which variables it was started.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from .environment_rule import PREFIX

__all__ = ["with_dropped_variables"]

_OF_FIRST_PROCESS = Path("/proc/1/environ")


def with_dropped_variables(environment: Mapping[str, str], file: Path = _OF_FIRST_PROCESS) -> dict[str, str]:
    """``environment``, and the variables of the first process for settings that no shell passes on."""
    try:
        entries = file.read_bytes().split(b"\0")
    except OSError:
        return dict(environment)
    given = dict(os.fsdecode(entry).partition("=")[::2] for entry in entries)
    dropped = {name: value for name, value in given.items() if name.startswith(PREFIX) and not name.isidentifier()}
    return {**dropped, **environment}
