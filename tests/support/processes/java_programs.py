"""Compiles Java programs of one file for tests and keeps their classes, because a compiler's start costs seconds.

The classes are in `.cache/java-programs`, in a folder for each source, folder of jars and Java. All processes of a run,
and later runs, use them.
"""

import hashlib
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest
from support.processes.java import QUICK_TO_START, ROOT, java_command, java_executable

__all__ = ["java_compiler", "java_program"]

_COMPILED = ROOT / ".cache" / "java-programs"


@cache
def java_compiler() -> str | None:
    """Returns a Java that compiles and runs programs, or None."""
    java = java_executable()
    if java is None:
        return None
    modules = subprocess.run([java, "--list-modules"], capture_output=True, text=True, check=False).stdout
    return java if "jdk.compiler" in modules else None


@cache
def java_program(source: Path, libs: Path | None = None, kept_in: Path = _COMPILED) -> list[str]:
    """Returns the command for a program of one file, with Apache Kafka's jars or `libs`. Compiles it unless `kept_in`
    has its classes.
    """
    if java_compiler() is None:
        pytest.skip("no Java development kit on PATH")
    command = java_command(source.stem, libs=libs)
    path = command.index("-cp") + 1
    jars = sorted(map(str, Path(command[path]).parent.glob("*.jar")))
    classes = kept_in / _identity(command[0], source, jars)
    if not classes.exists():
        _compile(command[0], source, jars, classes)
    command[path] += f":{classes}"  # behind the jars, for the archive of their classes
    return command


def _identity(java: str, source: Path, jars: list[str]) -> str:
    version = os.stat(os.path.realpath(java)).st_mtime_ns
    names = [source.name, os.path.realpath(java), str(version), *jars]
    return hashlib.sha256("\n".join(names).encode() + source.read_bytes()).hexdigest()[:32]


def _compile(java: str, source: Path, jars: list[str], classes: Path) -> None:
    """Makes the folder in one step, because other processes may compile the same program now."""
    classes.parent.mkdir(parents=True, exist_ok=True)
    unfinished = tempfile.mkdtemp(prefix="unfinished-", dir=classes.parent)
    try:
        compiler = [java, *QUICK_TO_START, "--module", "jdk.compiler/com.sun.tools.javac.Main"]
        subprocess.run([*compiler, "-cp", ":".join(jars), "-d", unfinished, str(source)], check=True)
        os.rename(unfinished, classes)
    except OSError:
        if not classes.exists():
            raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
