"""Completion offers the words of the parsers and the names of the cluster, and is silent about failures."""

import os
import pty
import select
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from pybroker.broker.commands.init.init_command import init_command
from pybroker.broker.commands.log.log_command import log_command
from pybroker.broker.commands.serve_command import serve_command
from pybroker.cli.completion import live_names
from pybroker.cli.completion.candidates import candidates
from pybroker.cli.completion.scripts import completion_command
from pybroker.cli.nouns import NOUNS
from support.clients.commands import Pybroker
from support.clients.terminal_screen import own_terminal
from support.processes.ports import free_port


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(live_names, "_LIMIT_S", 60.0)  # a busy machine can need more than 300 ms
    return tmp_path / "pybroker" / "completion"


def offered(*words: str) -> list[str]:
    """The candidates; a name in the cluster is shown as the question for it."""
    commands = {"": _serve, "log": log_command, "init": init_command, "completion": completion_command}
    return candidates(words, commands, lambda wanted: [f"{wanted.kind}:{wanted.resource}"])


def _serve(arguments: Sequence[str]) -> int:
    return serve_command(arguments, {}, None)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["to"], ["top", "topics"]),
        (["topics", "de"], ["describe", "delete"]),
        (["topics", "describe", ""], ["TOPIC:"]),
        (["topics", "describe", "a", ""], ["TOPIC:a"]),
        (["groups", "describe", ""], ["GROUP:"]),
        (["groups", "reset", "-b", "x:1", ""], ["GROUP:"]),
        (["configs", "set", ""], ["RESOURCE:"]),
        (["configs", "set", "topic/a", ""], ["NAME:topic/a="]),
        (["topics", "list", "--under-r"], ["--under-replicated"]),
        (["topics", "list", "-o", "js"], ["json", "jsonl"]),
        (["topics", "list", "--command-config", ""], []),
        (["consume", ""], ["TOPIC:"]),
        (["completion", "z"], ["zsh"]),
        (["topics", "list", "--output=js"], ["--output=json", "--output=jsonl"]),
        (["topics", "list", "--output", "=", "js"], ["json", "jsonl"]),
        (["topics", "list", "--output", "="], ["table", "wide", "json", "jsonl", "name"]),
        (["topics", "list", "--nothing=t"], []),
        (["topics", "list", "--internal=t"], []),
        (["topics", "describe", "-b", "h", ":", "1", "--boot"], ["--bootstrap-server"]),
        (["groups", "lag", "-b", "h", ":", "1", ""], ["GROUP:"]),
        (["log", ""], ["dump", "verify", "stat"]),
        (["log", "verify", "--sh"], ["--shallow"]),
        (["init", ""], ["compose"]),
        (["init", "compose", "--brokers", ""], ["1", "3", "5"]),
        (["init", "compose", "--brokers=3", "--mon"], ["--monitoring"]),
        (["--conf"], ["--config"]),
        (["--config", "x", "--print"], ["--print-config"]),
        (["nothing", "at", "all"], []),
        (["topics", "nothing", ""], []),
    ],
)
def test_candidates_follow_the_parsers(words: list[str], expected: list[str]) -> None:
    assert offered(*words) == expected


@pytest.mark.parametrize("name", NOUNS)
def test_every_verb_has_candidates_for_options(name: str) -> None:
    for verb in NOUNS[name].load().verbs:
        words = [name, *filter(None, [verb.name])]
        assert "--bootstrap-server" in offered(*words, "--boot")


def test_names_come_from_the_cluster_and_are_kept(pybroker: Pybroker, topic: str, cache: Path) -> None:
    assert pybroker("topics", "create", topic).code == 0
    assert topic in pybroker("__complete", "topics", "describe", topic[:3]).out.split()
    assert f"topic/{topic}" in pybroker("__complete", "configs", "get", "topic/").out.split()
    assert "retention.ms=" in pybroker("__complete", "configs", "set", f"topic/{topic}", "retention").out.split()
    assert len(list(cache.iterdir())) == 3
    pybroker("topics", "delete", topic, "-y")
    assert topic in pybroker("__complete", "topics", "describe", topic[:3]).out.split()
    for file in cache.iterdir():
        os.utime(file, (time.time() - 31, time.time() - 31))
    assert topic not in pybroker("__complete", "topics", "describe", topic[:3]).out.split()


def test_failures_are_silent(pybroker: Pybroker, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (["-b", f"127.0.0.1:{free_port()}"], ["--command-config", "/nowhere"], ["-b", "::::"]):
        assert pybroker("__complete", "topics", "describe", *words, "").code == 0
        ran = pybroker("__complete", "topics", "describe", *words, "")
        assert (ran.out, ran.err) == ("", "")


def test_names_that_a_shell_would_read_as_its_own_are_not_offered(pybroker: Pybroker, cache: Path) -> None:
    pybroker("__complete", "topics", "describe", "")
    (file,) = cache.iterdir()
    file.write_text('["good", "$(reboot)", "a;b", "-rf", "a b", "\\u001b[2J", 7]')
    assert pybroker("__complete", "topics", "describe", "").out == "good\n"


SHELLS = {
    "bash": ("bash --noprofile --rcfile {script} -i", ""),
    "zsh": ("zsh -f -i", "autoload -U compinit && compinit -u -D && source {script}\r"),
    "fish": ("fish --no-config -i", "source {script}\r"),
}


@pytest.mark.parametrize("name", SHELLS)
def test_shell_completes_verbs_and_values_of_options(name: str, pybroker: Pybroker, tmp_path: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"there is no {name}")
    program, given, script = tmp_path / "pybroker", tmp_path / "given", tmp_path / "script"
    program.write_text(
        f'#!/bin/sh\n[ "$1" = __complete ] && exec {sys.executable} -m pybroker "$@"\n'
        f'printf "%s\\n" "$@" > {given}.new && mv {given}.new {given}\n'
    )
    program.chmod(0o755)
    script.write_text(pybroker("completion", name).out)
    command, setup = (each.format(script=script) for each in SHELLS[name])
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "TERM": "xterm", "PATH": path, "HOME": str(tmp_path)}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    main, terminal = pty.openpty()
    with subprocess.Popen(
        command.split(), stdin=terminal, stdout=terminal, stderr=terminal, env=environment, preexec_fn=own_terminal
    ) as shell:
        os.close(terminal)
        try:
            os.write(main, f"{setup}pybroker topics desc\tx --output=na\t\r".encode())
            shown = b""
            while not given.exists():
                ready, _, _ = select.select([main], [], [], 60)
                assert ready, shown
                shown += os.read(main, 4096)
        finally:
            shell.kill()
            os.close(main)
    assert given.read_text().split() == ["topics", "describe", "x", "--output=name"]
