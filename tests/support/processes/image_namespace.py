"""Runs commands in the root directory of pybroker's image, with its own processes, network and host name."""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import pytest
from support.processes.container_process import ContainerProcess
from support.source_tree import ROOT

__all__ = ["ImageInNamespace"]

_ENTER = Path(__file__).with_name("enter_image.sh")
_NAMESPACES = ("--user", "--map-root-user", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child")
_PATH = "/opt/pybroker/bin:/usr/local/bin:/usr/bin:/bin"


class ImageInNamespace:
    """The image of `scripts/image-build layout`, whose program is this checkout's. `directory` is its own."""

    def __init__(self, directory: Path) -> None:
        self._image, self._root = directory / "image", directory / "root"
        self._root.mkdir()
        command = [str(ROOT / "scripts" / "image-build"), "layout", str(self._image)]
        subprocess.run(command, check=True)
        for file in [*self._image.glob("etc/**/*"), *self._image.glob("usr/**/*"), *self._image.glob("opt/**/*")]:
            if file.is_file():
                file.write_text(file.read_text().replace(str(self._image), ""))
        program = self._image / "opt/pybroker/bin/pybroker"
        program.parent.mkdir(parents=True)
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m pybroker "$@"\n')
        program.chmod(0o755)

    def holds(self, place: str, file: Path) -> None:
        """Copy `file` to a place in the image, as it may be done before the container starts."""
        target = self._image / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)

    def runs(
        self, command: Sequence[str], start_script: tuple[str, str], environment: Mapping[str, str]
    ) -> ContainerProcess:
        """A process that runs `command` as PID 1. `start_script`: its path and text; it is there from the start.

        Skips the test with the reason if namespaces can't be made.
        """
        if (reason := _why_not()) is not None:
            pytest.skip(f"namespaces cannot be made here: {reason}")
        path, text = start_script
        (self._image / "start").write_text(text)
        (self._image / "start").chmod(0o777)
        places = ":".join(map(str, _places()))
        entering = [str(_ENTER), str(self._image), str(self._root), places, *command]
        return ContainerProcess(
            ["unshare", *_NAMESPACES, "bash", *entering],
            None,
            {"PATH": _PATH, "START_SCRIPT": path, **environment},
        )

    @staticmethod
    def beside(process: ContainerProcess, program: str) -> str:
        """The output of a Python program that runs in the network of `process`."""
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        entering = ["nsenter", "--target", children[0], "--user", "--preserve-credentials", "--net"]
        done = subprocess.run(
            [*entering, sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


def _places() -> list[Path]:
    """Directories that Python needs to run the checkout; none is inside of another one."""
    wanted = {Path(each) for each in (str(ROOT), sys.prefix, sys.base_prefix, *sys.path) if Path(each).is_dir()}
    wanted |= {each.resolve() for each in wanted}
    return sorted(each for each in wanted if wanted.isdisjoint(each.parents))


@cache
def _why_not() -> str | None:
    for program in ("unshare", "nsenter", "ip", "bash", "hostname"):
        if shutil.which(program) is None:
            return f"no {program} on PATH"
    tried = subprocess.run(["unshare", *_NAMESPACES, "true"], capture_output=True, text=True, check=False)
    return (tried.stderr.strip() or "unshare failed") if tried.returncode else None
