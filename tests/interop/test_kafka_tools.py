"""Tests with Apache Kafka 3.9.1's own console and verifiable clients, and its log dump on our files."""

import json
from pathlib import Path

import pytest
from kafka import KafkaProducer
from support.clients.tool_server import run_main
from support.processes.broker_process import BrokerProcess

TOOLS = "org.apache.kafka.tools"


def run(main_class: str, *arguments: str, stdin: str = "", expected: int = 0) -> str:
    done = run_main(main_class, *arguments, stdin=stdin)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout


def lines(output: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def test_console_consumer_prints_records_of_the_console_producer(servers: str, topic: str) -> None:
    words = [f"word-{n}" for n in range(200)]
    run("kafka.tools.ConsoleProducer", "--bootstrap-server", servers, "--topic", topic, stdin="\n".join(words) + "\n")
    consumer = (f"{TOOLS}.consumer.ConsoleConsumer", "--bootstrap-server", servers, "--topic", topic)
    output = run(*consumer, "--from-beginning", "--max-messages", "200")
    assert output.split() == words


@pytest.mark.parametrize("acks", ["-1", pytest.param("1", marks=pytest.mark.long)])
def test_verifiable_consumer_gets_all_acknowledged_records(servers: str, topic: str, group: str, acks: str) -> None:
    produced = run(
        f"{TOOLS}.VerifiableProducer",
        *("--bootstrap-server", servers, "--topic", topic, "--max-messages", "2000", "--acks", acks),
    )
    acknowledged = [line["value"] for line in lines(produced) if line["name"] == "producer_send_success"]
    assert len(acknowledged) == 2000
    consumed = run(
        f"{TOOLS}.VerifiableConsumer",
        *("--bootstrap-server", servers, "--topic", topic, "--group-id", group),
        *("--max-messages", "2000", "--reset-policy", "earliest", "--verbose"),
    )
    read = [line["value"] for line in lines(consumed) if line["name"] == "record_data"]
    assert read == acknowledged


def test_kafka_log_dump_finds_no_fault_in_produced_segments(tmp_path: Path) -> None:
    settings = {"log.segment.bytes": "100000", "log.index.interval.bytes": "512"}
    with BrokerProcess(tmp_path, settings) as broker:
        for codec in (None, "gzip", "snappy", "lz4", "zstd"):
            producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers, compression_type=codec, linger_ms=1)
            for n in range(2000):
                producer.send("dumped", f"value {n} ".encode() * 10, str(n).encode(), partition=0)
            producer.flush(30)
            producer.close()
        broker.stop()
    directory = tmp_path / "data" / "dumped-0"
    logs = sorted(directory.glob("*.log"))
    assert len(logs) > 2
    files = ",".join(
        str(file) for file in sorted(directory.iterdir()) if file.suffix in (".log", ".index", ".timeindex")
    )
    dump = run("kafka.tools.DumpLogSegments", "--deep-iteration", "--verify-index-only", "--files", files)
    assert not [line for line in dump.splitlines() if "mismatch" in line.lower() or "invalid" in line.lower()], dump
    sanity = run("kafka.tools.DumpLogSegments", "--index-sanity-check", "--files", files)
    assert sanity.count("passed sanity check") == 2 * len(logs), sanity
    whole = run("kafka.tools.DumpLogSegments", "--deep-iteration", "--files", ",".join(map(str, logs)))
    offsets = [int(line.split("offset: ")[1].split()[0]) for line in whole.splitlines() if line.startswith("| offset")]
    assert offsets == list(range(10_000))
    assert "isvalid: false" not in whole
