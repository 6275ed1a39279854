"""Tests with Kafka Streams and Kafka Connect of Apache Kafka 3.9.1."""

import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic
from support.clients.foreign_clients import PROGRAMS, running


def count_words(servers: str, topic: str, directory: Path) -> list[object]:
    program = PROGRAMS / "streams" / "WordCount.java"
    return [program, servers, f"counter-of-{topic}", topic, f"{topic}-counts", directory / "state"]


def test_streams_word_count_continues_where_it_stopped(servers: str, topic: str, tmp_path: Path) -> None:
    """Its internal topics are created, written, read to restore the counts, and cleared by DeleteRecords."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic(topic, 2, 1), NewTopic(f"{topic}-counts", 2, 1)])
    admin.close()
    producer = KafkaProducer(bootstrap_servers=servers)
    consumer = KafkaConsumer(f"{topic}-counts", bootstrap_servers=servers, auto_offset_reset="earliest")
    counts: dict[str, int] = {}
    expected: Counter[str] = Counter()

    def count(lines: list[str]) -> None:
        for line in lines:
            expected.update(line.lower().split())
            producer.send(topic, line.encode())
        producer.flush()
        while counts != expected:
            for batch in consumer.poll(timeout_ms=1000).values():
                counts.update({record.key.decode(): int(record.value) for record in batch})
            assert process.poll() is None

    with running(*count_words(servers, topic, tmp_path)) as process:
        count(["All streams lead to Kafka", "hello kafka streams", "join kafka summit"])
    with running(*count_words(servers, topic, tmp_path)) as process:
        count(["kafka again", "all again"])
    consumer.close()
    producer.close()


def wait_until(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    while not condition():
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError("ended by itself")


@pytest.mark.long  # a worker of a group, which runs anyway, has the same producers and consumers
def test_connect_copies_a_file_through_a_topic_into_another_file(servers: str, topic: str, tmp_path: Path) -> None:
    source, sink = tmp_path / "source.txt", tmp_path / "sink.txt"
    files = {
        "worker": {
            "bootstrap.servers": servers,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "offset.storage.file.filename": tmp_path / "offsets",
            "offset.flush.interval.ms": 100,
            "listeners": "http://127.0.0.1:0",
            "plugin.discovery": "service_load",
        },
        "source": {
            "name": f"source-{topic}",
            "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
            "file": source,
            "topic": topic,
        },
        "sink": {
            "name": f"sink-{topic}",
            "connector.class": "org.apache.kafka.connect.file.FileStreamSinkConnector",
            "file": sink,
            "topics": topic,
        },
    }
    for name, settings in files.items():
        lines = [f"{key}={value}\n" for key, value in settings.items()]
        (tmp_path / f"{name}.properties").write_text("".join(lines))
    connect = ["org.apache.kafka.connect.cli.ConnectStandalone", *(tmp_path / f"{name}.properties" for name in files)]

    def carried() -> bool:
        return sink.exists() and sink.read_text() == source.read_text()

    def add(*lines: str) -> None:
        with source.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)

    add("one", "two")
    with running(*connect) as process:
        wait_until(carried, process)
        add("three")
        wait_until(carried, process)
    add("four")
    with running(*connect) as process:
        wait_until(carried, process)
    assert sink.read_text().split() == ["one", "two", "three", "four"]
