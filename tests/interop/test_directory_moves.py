"""Tests of kafka-reassign-partitions moving replicas between log directories of a broker under load."""

import json
import threading
from pathlib import Path

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from support.clients.kafka_tools import TOOLS, run_tool
from support.processes.broker_process import BrokerProcess

REASSIGN = f"{TOOLS}.reassign.ReassignPartitionsCommand"


def plan(directory: Path, target: Path, broker_id: int) -> str:
    partitions = [
        {"topic": "moved", "partition": number, "replicas": [broker_id], "log_dirs": [str(target)]}
        for number in range(3)
    ]
    path = directory / "plan.json"
    path.write_text(json.dumps({"version": 1, "partitions": partitions}))
    return str(path)


def homes(*directories: Path) -> dict[str, list[str]]:
    return {path.name: sorted(each.name for each in path.glob("moved-?")) for path in directories}


def test_kafka_reassign_partitions_moves_log_directories_during_writes(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    settings = {"log.dirs": f"{first},{second}", "log.segment.bytes": "1000000"}
    with BrokerProcess(tmp_path / "broker", settings) as broker:
        servers = broker.bootstrap_servers
        admin = KafkaAdminClient(bootstrap_servers=servers)
        admin.create_topics([NewTopic("moved", 3, 1)])
        producer = KafkaProducer(bootstrap_servers=servers, acks="all")
        stopped = threading.Event()
        futures = [producer.send("moved", b"x" * 1000, partition=number % 3) for number in range(3000)]

        def write() -> None:
            while not stopped.is_set():
                futures.append(producer.send("moved", b"x" * 1000, partition=len(futures) % 3))
                futures[-1].get()

        writer = threading.Thread(target=write)
        writer.start()
        broker_id = json.loads((first / "meta.properties").read_text().split("broker.id=")[1].split()[0])
        for target in (second, first, second):
            arguments = ("--bootstrap-server", servers, "--reassignment-json-file", plan(tmp_path, target, broker_id))
            run_tool(REASSIGN, *arguments, "--execute", *("--replica-alter-log-dirs-throttle", "100000000"))
            output = ""
            while "is still in progress" in output or not output:
                output = run_tool(REASSIGN, *arguments, "--verify", "--preserve-throttles")
            assert output.count("completed successfully") == 3 or "is complete" in output, output
        stopped.set()
        writer.join()
        offsets = sorted(future.get().offset for future in futures if future.get().partition == 0)
        assert offsets == list(range(len(offsets)))
        consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
        consumer.assign([TopicPartition("moved", number) for number in range(3)])
        read = 0
        while read < len(futures):
            read += sum(map(len, consumer.poll(1000).values()))
        assert read == len(futures)
        for client in (consumer, producer, admin):
            client.close()
    assert homes(first, second) == {"first": [], "second": ["moved-0", "moved-1", "moved-2"]}
