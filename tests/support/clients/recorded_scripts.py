"""Recorded lines of Kafka's scripts: reads them, prepares what they need, and compares what was printed.

A recording is a list of lines that ran one after another on one broker. Its first item may have the broker's settings
under ``broker``. A line has its standard input and files beside it; ``setup …`` names a function of `SETUPS`.
``<dir>`` is the directory of the broker and of the files, ``<address>`` the address of the broker.
"""

import json
import re
import shlex
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from confluent_kafka import Producer
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from support.clients.wire_client import WireClient

__all__ = ["CLASSES", "RECORDINGS", "Recording", "comparable", "comparable_error"]

CLASSES = {
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
    "kafka-topics": "org.apache.kafka.tools.TopicCommand",
    "kafka-transactions": "org.apache.kafka.tools.TransactionsCommand",
}
RECORDINGS = sorted((Path(__file__).parents[2] / "reference" / "kafka-scripts").glob("*.json"))
_WITHOUT_BROKER = ("kafka-dump-log",)
_BEFORE_KIP_890 = 11
"""The last version of Produce for which leaders do not ask the coordinator."""


class Recording:
    """One file. `directory`: where the broker and the files of lines are."""

    def __init__(self, file: Path, directory: Path) -> None:
        items: list[dict[str, Any]] = json.loads(file.read_text())
        self._directory = directory
        first = items[0].get("broker")
        self.lines = items if first is None else items[1:]
        given = {name: self._filled(value, "") for name, value in (first or {}).items()}
        self.settings: Mapping[str, str] = {"broker.id": "0", "auto.create.topics.enable": "false", **given}

    def prepare(self, recorded: Mapping[str, Any], servers: str) -> list[str] | None:
        """The script and its arguments, once its files are there. None: the line was a set-up, which is done."""
        for name, text in recorded.get("files", {}).items():
            (self._directory / name).write_text(self._filled(text, servers))
        script, *words = shlex.split(recorded["line"])
        if script == "setup":
            SETUPS[words[0]](servers, *(self._filled(word, servers) for word in words[1:]))
            return None
        arguments = [self._filled(word, servers) for word in words]
        if not arguments or arguments == ["--version"] or "<address>" in words or script in _WITHOUT_BROKER:
            return [script, *arguments]
        return [script, "--bootstrap-server", servers, *arguments]

    def unfilled(self, text: str) -> str:
        """The text without the name of the directory."""
        return text.replace(str(self._directory), "<dir>")

    def _filled(self, text: str, servers: str) -> str:
        return text.replace("<dir>", str(self._directory)).replace("<address>", servers)


def begin_hanging_transaction(servers: str, partition: str, age_ms: str) -> None:
    """Append a transactional batch for a producer that no coordinator knows."""
    record = Record(0, int(time.time() * 1000) - int(age_ms), None, b"value", ())
    batch = build_batch([record], producer_id=4711, producer_epoch=3, base_sequence=0, is_transactional=True)
    data = TopicProduceData(name="demo", partition_data=[PartitionProduceData(index=int(partition), records=batch)])
    request = ProduceRequest(transactional_id="gone", acks=-1, timeout_ms=10_000, topic_data=[data])
    with WireClient(servers) as client:
        (answer,) = client.ask(request, _BEFORE_KIP_890).responses[0].partition_responses
        assert not answer.error_code


def open_transaction(servers: str, transactional_id: str) -> None:
    """Write a record in a transaction, and leave it open."""
    producer = Producer({"bootstrap.servers": servers, "transactional.id": transactional_id})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("demo", b"value", partition=0)
    producer.flush()


def copy_file(_: str, source: str, target: str) -> None:
    shutil.copy(source, target)


SETUPS: Mapping[str, Callable[..., None]] = {
    "copy": copy_file,
    "hanging-transaction": begin_hanging_transaction,
    "open-transaction": open_transaction,
}


def comparable(stdout: str) -> str:
    """Without topic ids, addresses, times and stack traces. Blocks of lines that Kafka's script prints in the order of
    a hash table are sorted.
    """
    text = re.sub(r"^(?:[a-z]\w*\.)+\w+(?:Exception|Error)\b.*", "", stdout, flags=re.MULTILINE | re.DOTALL)
    text = re.sub(r"TopicId: \S{22}", "TopicId: <id>", text)
    text = re.sub(r"^3\.9\.1 \(Commit:\w+\)$", "3.9.1", text, flags=re.MULTILINE)
    text = re.sub(r"(127\.0\.0\.1:\d+|<address>)(  \(0\) +)?", "<address>", text)  # the column is as wide as the port
    text = re.sub(r"\b1[6-9]\d{11}\b", "<time>", text)
    text = re.sub(r"(\tOngoing +\t.*\t<time> +\t)\d+ +\t", r"\1<age>\t", text)
    text = re.sub(r"\bcrc: \d+", "crc: <crc>", text)
    text = re.sub(r"\b(size|position): [1-9]\d*", r"\1: <some>", text)  # differences of times take 1 byte or 2
    text = re.sub(r"^ ((?:\t\(principal=.*\n)*\t\(principal=.*\)) $", _sorted_lines, text, flags=re.MULTILINE)
    text = re.sub(r"(?:^Current ACLs.*\n(?:.+\n)*\n)+", _sorted_blocks, text, flags=re.MULTILINE)
    text = re.sub(r'"size":[1-9]\d*', '"size":"<some>"', text)  # batches of Java have other timestamps
    if '{"brokers":' in text:
        text = re.sub(r"^\{\"brokers\":.*$", _sorted_replicas, text, flags=re.MULTILINE)
    if "\tPartition: " in text and not text.startswith("\t"):
        return "".join(sorted(re.findall(r"^Topic: .*\n(?:\t.*\n)*", text, re.MULTILINE)))
    return "".join(sorted(text.splitlines(keepends=True))) if text.startswith("\t") else text


def comparable_error(stderr: str) -> str:
    """The first line, without classes of exceptions in front. Of a usage, the error behind it."""
    if stderr.startswith("usage:"):
        return re.sub(r"\s+", " ", stderr.partition(" error: ")[2].replace("-\n", "-")).strip()
    line = re.sub(r'^(?:Exception in thread "main" )?(?:[\w.$]+(?:Exception|Error): )*', "", stderr.partition("\n")[0])
    before, only, operations = line.partition(" only supports operations ")
    return before + only + ", ".join(sorted(operations.split(", ")))  # those of a hash table


def _sorted_lines(found: re.Match[str]) -> str:
    return "\n".join(sorted(found[1].split("\n")))


def _sorted_blocks(found: re.Match[str]) -> str:
    return "\n\n".join(sorted(found[0].split("\n\n")))


def _sorted_replicas(found: re.Match[str]) -> str:
    document = json.loads(found[0])
    for broker in document["brokers"]:
        broker["logDirs"].sort(key=lambda each: each["logDir"])
        for directory in broker["logDirs"]:
            directory["partitions"].sort(key=lambda each: each["partition"])
    return json.dumps(document, separators=(",", ":"))
