"""One row of the table each: which of Kafka's tools runs with which arguments, and what of its output counts."""

import re
import socket
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass

from pybroker.protocol.apis import API_SPECS, ApiKey
from pybroker.protocol.codec import Message, decode, decode_prefix, encode
from pybroker.protocol.messages.headers import RequestHeader, ResponseHeader
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from pybroker.protocol.records.record import Record, build_batch
from support.java import java_command

__all__ = ["WORKLOADS", "Workload", "first_acknowledged_record"]


@dataclass(frozen=True)
class Workload:
    """A row. ``run(bootstrap_servers, scale)`` returns its figures by name; ``better`` says which way is good."""

    name: str
    unit: str
    better: str
    run: Callable[[str, float], dict[str, float]]


def tool(main_class: str, *arguments: str) -> str:
    """Runs one of Kafka's tools with the JIT it would have in production; returns what it printed."""
    command = [part for part in java_command(main_class, *arguments, heap="512m") if "TieredStopAtLevel" not in part]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{main_class} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout


def create_topic(servers: str, topic: str, partitions: int) -> None:
    tool(
        "org.apache.kafka.tools.TopicCommand",
        *("--bootstrap-server", servers, "--create", "--topic", topic),
        *("--partitions", str(partitions), "--replication-factor", "1", "--if-not-exists"),
    )


def produce(
    topic: str, records: int, size: int, *properties: str, partitions: int = 1
) -> Callable[[str, float], dict[str, float]]:
    def run(servers: str, scale: float) -> dict[str, float]:
        create_topic(servers, topic, partitions)
        output = tool(
            "org.apache.kafka.tools.ProducerPerformance",
            *("--topic", topic, "--num-records", str(int(records * scale)), "--record-size", str(size)),
            *("--throughput", "-1", "--producer-props", f"bootstrap.servers={servers}", *properties),
        )
        last = output.strip().splitlines()[-1]
        match = re.search(r"sent, ([\d.]+) records/sec.*?([\d.]+) ms avg.*?([\d.]+) ms 99th", last)
        assert match is not None, last
        return {"records/s": float(match[1]), "avg ms": float(match[2]), "p99 ms": float(match[3])}

    return run


def consume(topic: str, records: int) -> Callable[[str, float], dict[str, float]]:
    def run(servers: str, scale: float) -> dict[str, float]:
        output = tool(
            "org.apache.kafka.tools.ConsumerPerformance",
            *("--bootstrap-server", servers, "--topic", topic, "--messages", str(int(records * scale))),
            *("--timeout", "60000", "--group", f"reads-{topic}-{time.time_ns()}"),
        )
        fields = [field.strip() for field in output.strip().splitlines()[-1].split(",")]
        assert int(fields[4]) >= int(records * scale), output
        return {"records/s": float(fields[9]), "with joining": float(fields[5])}

    return run


def end_to_end(records: int) -> Callable[[str, float], dict[str, float]]:
    def run(servers: str, scale: float) -> dict[str, float]:
        create_topic(servers, "latency", 1)
        output = tool(
            "org.apache.kafka.tools.EndToEndLatency", servers, "latency", str(int(records * scale)), "all", "100"
        )
        average = re.search(r"Avg latency: ([\d.]+) ms", output)
        percentiles = re.search(r"50th = (\d+), 99th = (\d+), 99.9th = (\d+)", output)
        assert average is not None, output
        assert percentiles is not None, output
        return {"avg ms": float(average[1]), "p99 ms": float(percentiles[2])}

    return run


WORKLOADS = (
    Workload(
        "produce 2 M x 100 B, acks=all, linger 5 ms, 64 KiB batches, 1 partition",
        "records/s",
        "higher",
        produce("plain", 2_000_000, 100, "acks=all", "linger.ms=5", "batch.size=65536"),
    ),
    Workload("consume them, in a group", "records/s", "higher", consume("plain", 2_000_000)),
    Workload(
        "produce 400 K x 1 KiB, 256 KiB batches",
        "records/s",
        "higher",
        produce("large", 400_000, 1024, "acks=all", "linger.ms=5", "batch.size=262144"),
    ),
    Workload("consume them, in a group (1 KiB)", "records/s", "higher", consume("large", 400_000)),
    Workload(
        "produce 1 M x 100 B, zstd",
        "records/s",
        "higher",
        produce("zstd", 1_000_000, 100, "acks=all", "linger.ms=5", "batch.size=65536", "compression.type=zstd"),
    ),
    Workload("consume them, in a group (zstd)", "records/s", "higher", consume("zstd", 1_000_000)),
    Workload(
        "produce 1 M x 100 B over 100 partitions",
        "records/s",
        "higher",
        produce("many", 1_000_000, 100, "acks=all", "linger.ms=5", "batch.size=65536", partitions=100),
    ),
    Workload("consume them, in a group (100 partitions)", "records/s", "higher", consume("many", 1_000_000)),
    Workload(
        "produce 60 K x 100 B, one record a request, acks=1",
        "records/s",
        "higher",
        produce("single", 60_000, 100, "acks=1", "linger.ms=0", "batch.size=1", "enable.idempotence=false"),
    ),
    Workload("end-to-end latency, acks=all", "avg ms", "lower", end_to_end(10_000)),
)


def exchange(connection: socket.socket, api_key: ApiKey, version: int, message: Message) -> memoryview:
    """Sends one request and returns the answer's body."""
    spec = API_SPECS[api_key]
    header = RequestHeader(
        request_api_key=api_key, request_api_version=version, correlation_id=1, client_id="benchmark"
    )
    frame = encode(header, spec.request_header_version(version)) + encode(message, version)
    connection.sendall(len(frame).to_bytes(4, "big") + frame)
    size = int.from_bytes(receive(connection, 4), "big")
    answer = memoryview(receive(connection, size))
    return answer[decode_prefix(ResponseHeader, answer, spec.response_header_version(version))[1] :]


def receive(connection: socket.socket, size: int) -> bytes:
    chunks = b""
    while len(chunks) < size:
        chunk = connection.recv(size - len(chunks))
        if not chunk:
            raise ConnectionError("closed")
        chunks += chunk
    return chunks


def first_acknowledged_record(port: int, deadline: float) -> float:
    """Produces one record to a topic that is made by asking for it, again and again until it is acknowledged.

    Returns the monotonic time of the acknowledgement.
    """
    while time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
                while time.monotonic() < deadline:
                    if produce_first_record(connection):
                        return time.monotonic()
                    time.sleep(0.005)
        except OSError:
            time.sleep(0.005)
    raise TimeoutError("no record was acknowledged")


def produce_first_record(connection: socket.socket) -> bool:
    """Whether it was acknowledged. A broker that has just started may fail to make the topic: it is asked each time."""
    exchange(connection, ApiKey.METADATA, 4, MetadataRequest(topics=[MetadataRequestTopic(name="first")]))
    batch = build_batch([Record(offset=0, timestamp_ms=int(time.time() * 1000), key=None, value=b"first")])
    topics = [TopicProduceData(name="first", partition_data=[PartitionProduceData(index=0, records=batch)])]
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=topics)
    answer = decode(ProduceResponse, exchange(connection, ApiKey.PRODUCE, 3, request), 3)
    return answer.responses[0].partition_responses[0].error_code == 0
