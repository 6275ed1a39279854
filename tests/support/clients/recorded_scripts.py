"""Recorded lines of Kafka's scripts: reads them, prepares what they need, and compares what was printed.

A recording is a list of lines that ran one after another on one broker. Its first item may have the broker's settings
under ``broker``. A line has its standard input and files beside it; ``setup …`` names a function of `_SETUPS`.
``<dir>`` is the directory of the broker and of the files, ``<address>`` the address of the broker.
"""

import json
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple, Self

import pytest
from confluent_kafka import Consumer, Producer
from pybroker.broker.commands.command_line import main
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from support.clients.wire_client import WireClient
from support.processes.java import java_command

__all__ = ["RECORDINGS", "Recording", "comparable", "run_here", "run_kafkas"]

_CLASSES = {
    "kafka-acls": "kafka.admin.AclCommand",
    "kafka-broker-api-versions": "kafka.admin.BrokerApiVersionsCommand",
    "kafka-configs": "kafka.admin.ConfigCommand",
    "kafka-console-consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer": "kafka.tools.ConsoleProducer",
    "kafka-consumer-groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-delete-records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "kafka-dump-log": "kafka.tools.DumpLogSegments",
    "kafka-get-offsets": "org.apache.kafka.tools.GetOffsetShell",
    "kafka-leader-election": "org.apache.kafka.tools.LeaderElectionCommand",
    "kafka-log-dirs": "org.apache.kafka.tools.LogDirsCommand",
    "kafka-reassign-partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-storage": "kafka.tools.StorageTool",
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}
RECORDINGS = sorted((Path(__file__).parents[2] / "reference" / "kafka-scripts").glob("*.json"))
_WITHOUT_BROKER = ("kafka-dump-log", "kafka-storage")
_BEFORE_KIP_890 = 11
"""The last version of Produce for which leaders do not ask the coordinator."""


class Printed(NamedTuple):
    """The output of a script, and its exit code."""

    out: str
    err: str
    code: int


RunScript = Callable[[list[str], str], Printed]
"""Runs a script, whose name comes first, with its standard input."""


class Recording:
    """One file. `directory`: where the broker and the files of lines are. Closing it ends what set-ups made."""

    def __init__(self, file: Path, directory: Path) -> None:
        items: list[dict[str, Any]] = json.loads(file.read_text())
        self._directory = directory
        self._made = ExitStack()
        first = items[0].get("broker")
        self.lines = items if first is None else items[1:]
        given = {name: self._filled(value, "") for name, value in (first or {}).items()}
        self.settings: Mapping[str, str] = {"broker.id": "0", "auto.create.topics.enable": "false", **given}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._made.close()

    def differences(self, servers: str, run: "RunScript") -> list[tuple[str, Printed, Printed]]:
        """The lines that now print or exit otherwise, with what they printed now and when they were recorded."""
        found = []
        for recorded in self.lines:
            arguments = self._prepare(recorded, servers)
            if arguments is None:
                continue
            printed = run(arguments, recorded.get("stdin", ""))
            ours = comparable(printed._replace(out=self._unfilled(printed.out), err=self._unfilled(printed.err)))
            theirs = comparable(Printed(recorded["stdout"], recorded["stderr"], recorded["code"]))
            if ours != theirs:
                found.append((recorded["line"], ours, theirs))
        return found

    def _prepare(self, recorded: Mapping[str, Any], servers: str) -> list[str] | None:
        """The script and its arguments, once its files are there. None: the line was a set-up, which is done."""
        for name, text in recorded.get("files", {}).items():
            (self._directory / name).write_text(self._filled(text, servers))
        script, *words = shlex.split(recorded["line"])
        if script == "setup":
            made = _SETUPS[words[0]](servers, *(self._filled(word, servers) for word in words[1:]))
            if made is not None:
                self._made.callback(made.close)
            return None
        arguments = [self._filled(word, servers) for word in words]
        if not arguments or arguments == ["--version"] or "<address>" in words or script in _WITHOUT_BROKER:
            return [script, *arguments]
        return [script, "--bootstrap-server", servers, *arguments]

    def _unfilled(self, text: str) -> str:
        """The text without the name of the directory."""
        return text.replace(str(self._directory), "<dir>")

    def _filled(self, text: str, servers: str) -> str:
        return text.replace("<dir>", str(self._directory)).replace("<address>", servers)


def _begin_hanging_transaction(servers: str, partition: str, age_ms: str) -> None:
    """Append a transactional batch for a producer that no coordinator knows."""
    record = Record(0, int(time.time() * 1000) - int(age_ms), None, b"value", ())
    batch = build_batch([record], producer_id=4711, producer_epoch=3, base_sequence=0, is_transactional=True)
    data = TopicProduceData(name="demo", partition_data=[PartitionProduceData(index=int(partition), records=batch)])
    request = ProduceRequest(transactional_id="gone", acks=-1, timeout_ms=10_000, topic_data=[data])
    with WireClient(servers) as client:
        (answer,) = client.ask(request, _BEFORE_KIP_890).responses[0].partition_responses
        assert not answer.error_code


def _open_transaction(servers: str, transactional_id: str) -> None:
    """Write a record in a transaction, and leave it open."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("demo", b"value", partition=0)
    producer.flush()


def _copy_file(_: str, source: str, target: str) -> None:
    shutil.copy(source, target)


def _join_group(servers: str, group: str, topics: str, instance: str = "") -> Consumer:
    """A new member of a group, which commits the offset behind the first record that it got."""
    settings = {"group.instance.id": instance} if instance else {}
    member = Consumer(
        {
            "bootstrap.servers": servers,
            "group.id": group,
            "client.id": "reader",
            "auto.offset.reset": "earliest",
            "partition.assignment.strategy": "range",
            **settings,
        }
    )
    member.subscribe(topics.split(","))
    while not member.assignment():
        member.poll(0.1)
    if member.poll(5):
        member.commit(asynchronous=False)
    return member


_SETUPS: Mapping[str, Callable[..., Consumer | None]] = {
    "copy": _copy_file,
    "member": _join_group,
    "hanging-transaction": _begin_hanging_transaction,
    "open-transaction": _open_transaction,
}


def run_here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, file: Path) -> RunScript:
    """Runs our scripts in this process. `file`: a place for their standard input."""

    def run(arguments: list[str], stdin: str) -> Printed:
        file.write_bytes(stdin.encode())
        with file.open() as given:
            monkeypatch.setattr(sys, "stdin", given)
            code = main(arguments)
        printed = capsys.readouterr()
        return Printed(printed.out, printed.err, code)

    return run


def run_kafkas(arguments: list[str], stdin: str) -> Printed:
    """Runs the class of Kafka's script."""
    command = java_command(_CLASSES[arguments[0]], *arguments[1:])
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    return Printed(done.stdout, done.stderr, done.returncode)


def comparable(printed: Printed) -> Printed:
    """The output without facts that differ from run to run."""
    error = _comparable_error(printed.err)
    if "\n\tat " in printed.err and f" failed due to {error}\n" in printed.out:
        error = ""  # a stack trace of the error that the output tells; our scripts print none
    return Printed(_comparable_output(printed.out), error, printed.code)


def _comparable_output(stdout: str) -> str:
    """Without topic ids, addresses, times and stack traces. Blocks of lines that Kafka's script prints in the order of
    a hash table are sorted.
    """
    text = re.sub(r"^(?:[a-z]\w*\.)+\w+(?:Exception|Error)\b.*", "", stdout, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"TopicId: \S{22}", "TopicId: <id>", text)
    text = re.sub(r"^3\.9\.1 \(Commit:\w+\)$", "3.9.1", text, flags=re.MULTILINE)
    text = re.sub(r"(127\.0\.0\.1:\d+|<address>)(  \(0\) +)?", "<address>", text)  # the column is as wide as the port
    text = re.sub(r"\b1[6-9]\d{11}\b", "<time>", text)
    text = re.sub(r"(\A|\bcluster\.id=)[\w-]{22}(?=\Z|\n|,)", r"\1<id>", text)
    text = re.sub(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "-<uuid>", text)
    text = re.sub(r"(?<=^)(GROUP .*\n)((?:\S.*(?:\n|\Z))+)", _sorted_rows, text, flags=re.MULTILINE)
    text = re.sub(r"(\tOngoing +\t.*\t<time> +\t)\d+ +\t", r"\1<age>\t", text)
    text = re.sub(r"\bcrc: \d+", "crc: <crc>", text)
    text = re.sub(r"\b(size|position): [1-9]\d*", r"\1: <some>", text)  # differences of times take 1 byte or 2
    text = re.sub(r"^ ((?:\t\(principal=.*\n)*\t\(principal=.*\)) $", _sorted_lines, text, flags=re.MULTILINE)
    text = re.sub(r"(?:^Current ACLs.*\n(?:.+\n)*\n)+", _sorted_blocks, text, flags=re.MULTILINE)
    text = re.sub(r'"producerId":\d+', '"producerId":"<some>"', text)  # each broker has blocks of its own
    text = re.sub(r'(?<="billing"}},"value":{"version":)[01]', "<some>", text)  # Kafka 3.9 writes version 0
    text = re.sub(r'"size":[1-9]\d*', '"size":"<some>"', text)  # batches of Java have other timestamps
    if '{"brokers":' in text:
        text = re.sub(r"^\{\"brokers\":.*$", _sorted_replicas, text, flags=re.MULTILINE)
    text = re.sub(r"(?<= are )\w+=.*, .*$", lambda found: ", ".join(sorted(found[0].split(", "))), text, flags=re.M)
    if re.fullmatch(r"(?:(?:Quota|SCRAM credential) configs .*\n)+|(?:[a-z][\w.-]*\n)+", text):
        return "".join(sorted(text.splitlines(keepends=True)))
    if "\tPartition: " in text and not text.startswith("\t"):
        return "".join(sorted(re.findall(r"^Topic: .*\n(?:\t.*\n)*", text, re.MULTILINE)))
    return "".join(sorted(text.splitlines(keepends=True))) if text.startswith("\t") else text


def _comparable_error(stderr: str) -> str:
    """The first line, without classes of exceptions in front. Of a usage, the error behind it."""
    stderr = re.sub(r"^log4j:WARN .*\n", "", stderr, flags=re.MULTILINE)
    if stderr.startswith("usage:"):
        return re.sub(r"\s+", " ", stderr.partition(" error: ")[2].replace("-\n", "-")).strip()
    stderr = re.sub(r"127\.0\.0\.1:\d+", "<address>", stderr)
    stderr = re.sub(r"(?<=but read )[\w-]{22}$", "<id>", stderr, flags=re.MULTILINE)
    line = re.sub(r'^(?:Exception in thread "main" )?(?:[\w.$]+(?:Exception|Error): )*', "", stderr.partition("\n")[0])
    before, only, operations = line.partition(" only supports operations ")
    return before + only + ", ".join(sorted(operations.split(", ")))  # those of a hash table


def _sorted_lines(found: re.Match[str]) -> str:
    return "\n".join(sorted(found[1].split("\n")))


def _sorted_blocks(found: re.Match[str]) -> str:
    return "\n\n".join(sorted(found[0].split("\n\n")))


def _sorted_rows(found: re.Match[str]) -> str:
    return found[1] + "\n".join(sorted(found[2].split("\n"))).lstrip("\n")


def _sorted_replicas(found: re.Match[str]) -> str:
    document = json.loads(found[0])
    for broker in document["brokers"]:
        if len(broker["logDirs"]) > 1:  # which one gets a replica is not said anywhere
            broker["logDirs"] = [each | {"partitions": []} for each in broker["logDirs"]]
        broker["logDirs"].sort(key=lambda each: each["logDir"])
        for directory in broker["logDirs"]:
            directory["partitions"].sort(key=lambda each: each["partition"])
    return json.dumps(document, separators=(",", ":"))
