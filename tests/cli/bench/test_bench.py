"""``pybroker bench`` writes the records that it was told to, and prints Kafka's columns."""

import re

import pytest
from pybroker.cli.bench.latencies import Latencies
from support.clients.commands import Pybroker

LINE = (
    r"(\d+) records sent, ([\d.]+) records/sec \(([\d.]+) MB/sec\), ([\d.]+) ms avg latency, "
    r"([\d.]+) ms max latency, \d+ ms 50th, \d+ ms 95th, \d+ ms 99th, \d+ ms 99\.9th\.\n"
)


def test_percentiles_count_records_not_batches() -> None:
    latencies = Latencies()
    for milliseconds, records in [(30.0, 1), (1.0, 90), (10.0, 9)]:
        latencies.add(milliseconds, records)
    assert latencies.percentiles((0.5, 0.9, 0.91, 0.99, 0.999)) == [1.0, 1.0, 10.0, 10.0, 30.0]
    assert latencies.line(2.0, 1024 * 1024) == (
        "100 records sent, 50.0 records/sec (50.00 MB/sec), 2.10 ms avg latency, 30.00 ms max latency, "
        "1 ms 50th, 10 ms 95th, 10 ms 99th, 30 ms 99.9th."
    )


@pytest.mark.parametrize("acks", ["all", "1"])
def test_bench_writes_as_many_records_as_it_says(acks: str, pybroker: Pybroker, topic: str) -> None:
    assert pybroker("topics", "create", topic, "-p", "3").code == 0
    assert pybroker("bench", "produce", topic, "--dry-run").out == ""
    ran = pybroker("bench", "produce", topic, "--records", "1001", "--batch", "2000", "--acks", acks)
    assert (ran.code, ran.err) == (0, "")
    found = re.fullmatch(LINE, ran.out)
    assert found
    assert found[1] == "1001"
    values = pybroker("consume", topic, "--until", "end", "-f", "%S\n").out.split()
    assert values == ["100"] * 1001
