"""Process namespaces, in which a program is PID 1 as in a container."""

import shutil
import subprocess
from functools import cache

import pytest

__all__ = ["in_process_namespace"]

_NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child", "--mount-proc")


def in_process_namespace() -> list[str]:
    """Returns the prefix of a command. Skips the test with the reason if namespaces can't be made."""
    if (reason := _why_not()) is not None:
        pytest.skip(f"process namespaces cannot be made here: {reason}")
    return list(_NAMESPACE)


@cache
def _why_not() -> str | None:
    if shutil.which("unshare") is None:
        return "no unshare on PATH"
    tried = subprocess.run([*_NAMESPACE, "true"], capture_output=True, text=True, check=False)
    return (tried.stderr.strip() or "unshare failed") if tried.returncode else None
