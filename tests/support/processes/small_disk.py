"""A small file system (tmpfs) that a test can fill up and empty again."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

__all__ = ["fill_up", "small_disk"]

_INODES = 1000


@contextmanager
def small_disk(path: Path, size_bytes: int, inodes: int = _INODES) -> Iterator[Path]:
    """Mounts a tmpfs of that size, for that number of files, at `path`; skips the test where that is not permitted."""
    path.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes},nr_inodes={inodes}", "tmpfs", str(path)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"a small file system cannot be mounted here: {mounted.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", str(path)], check=True)


def fill_up(path: Path) -> None:
    """Makes `path` as large as the disk allows, to the last byte."""
    with path.open("ab", buffering=0) as stream:
        for size_bytes in (1 << 16, 1 << 9, 1):
            with suppress(OSError):
                while True:
                    stream.write(b"x" * size_bytes)
