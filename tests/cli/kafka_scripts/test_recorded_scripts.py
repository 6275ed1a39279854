"""Scripts with Kafka's names print what the scripts of Apache Kafka 3.9.1 printed, and exit with the same code.

The recorded lines ran one after another on one broker. With ``--long`` Kafka's scripts run again beside ours.
"""

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.broker.commands.command_line import main
from support.processes.broker_process import BrokerProcess
from support.processes.java import java_command

RECORDINGS = [
    pytest.param(file, id=file.stem)
    for file in sorted((Path(__file__).parents[2] / "reference" / "kafka-scripts").glob("*.json"))
]
CLASSES = {
    "kafka-broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
}
SETTINGS = {"broker.id": "0", "auto.create.topics.enable": "false"}


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path, SETTINGS) as broker:
        yield broker


def arguments_of(line: str, servers: str) -> list[str]:
    """The arguments of a recorded line, with the address of a broker."""
    _, *arguments = shlex.split(line)
    if "<address>" in arguments:
        return [servers if argument == "<address>" else argument for argument in arguments]
    return ["--bootstrap-server", servers, *arguments] if arguments and arguments != ["--version"] else arguments


def comparable(stdout: str) -> str:
    """Without topic ids and addresses. Kafka's script describes topics in the order of a hash table, so blocks of them
    are sorted.
    """
    text = re.sub(r"TopicId: \S{22}", "TopicId: <id>", stdout)
    text = re.sub(r"(127\.0\.0\.1:\d+|<address>)(  \(0\) +)?", "<address>", text)  # the column is as wide as the port
    if "\tPartition: " in text and not text.startswith("\t"):
        return "".join(sorted(re.findall(r"^Topic: .*\n(?:\t.*\n)*", text, re.MULTILINE)))
    return "".join(sorted(text.splitlines(keepends=True))) if text.startswith("\t") else text


@pytest.mark.parametrize("recording", RECORDINGS)
def test_script_prints_what_kafkas_script_printed(
    recording: Path,
    own_broker: BrokerProcess,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = tmp_path / "stdin"
    for recorded in json.loads(recording.read_text()):
        line = recorded["line"]
        given.write_bytes(recorded.get("stdin", "").encode())
        with given.open() as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            code = main([line.split()[0], *arguments_of(line, own_broker.bootstrap_servers)])
        printed = capsys.readouterr()
        assert (line, comparable(printed.out)) == (line, comparable(recorded["stdout"]))
        assert (line, code) == (line, recorded["code"])
        assert (line, printed.err.partition("\n")[0]) == (line, recorded["stderr"])


@pytest.mark.long
@pytest.mark.parametrize("recording", RECORDINGS)
def test_recorded_lines_are_what_kafkas_script_prints(recording: Path, own_broker: BrokerProcess) -> None:
    for recorded in json.loads(recording.read_text()):
        line = recorded["line"]
        command = java_command(CLASSES[line.split()[0]], *arguments_of(line, own_broker.bootstrap_servers))
        given = recorded.get("stdin", "")
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        assert (line, comparable(done.stdout)) == (line, comparable(recorded["stdout"]))
        assert (line, done.returncode) == (line, recorded["code"])
