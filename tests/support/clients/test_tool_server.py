"""Tests that a tool of Kafka does the same in the running JVM as in its own."""

import subprocess

import pytest
from support.clients import tool_server
from support.clients.tool_server import run_main
from support.processes.java import java_command
from support.processes.java_programs import java_compiler

TOPICS = "org.apache.kafka.tools.TopicCommand"


def in_its_own_jvm(*words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(java_command(*words), capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("words", [(TOPICS, "--version"), (TOPICS, "--list")], ids=["succeeds", "fails"])
def test_tool_ends_in_the_running_jvm_as_in_its_own(words: tuple[str, ...]) -> None:
    ours, theirs = run_main(*words), in_its_own_jvm(*words)
    assert (ours.returncode, ours.stdout) == (theirs.returncode, theirs.stdout)
    assert ours.stderr.partition("\n")[0] == theirs.stderr.partition("\n")[0]  # a trace shows who called the tool


def test_jvm_is_replaced_after_several_tools_have_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    if java_compiler() is None:
        pytest.skip("no Java development kit on PATH")
    monkeypatch.setattr(tool_server, "_MOST_FAILED", 1)
    assert run_main(TOPICS, "--list").returncode == 1
    assert None not in tool_server._servers
    assert run_main(TOPICS, "--version").returncode == 0
    assert None in tool_server._servers
