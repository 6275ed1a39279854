"""``pybroker bench`` writes and reads the records that it was told to, and prints Kafka's columns."""

import re

import pytest
from pybroker.cli.bench.consumer_columns import INTERVAL_TITLES, TITLES, Counted, interval_line, whole_line
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


START, LATER, END = (
    Counted(1_700_000_000_000, 0, 0),
    Counted(1_700_000_000_500, 10, 0),
    Counted(1_700_000_002_500, 30, 4 << 20),
)


def test_columns_of_reading_are_those_of_kafka() -> None:
    *times, rest = whole_line(START, END).split(", ", 2)
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d:[05]00", each) for each in times)
    assert rest == "4.0000, 1.6000, 30, 12.0000, 0, 2500, 1.6000, 12.0000"
    rest = interval_line(START, LATER, END).split(", ", 1)[1]
    assert rest == "0, 4.0000, 2.0000, 30, 10.0000, 0, 2000, 2.0000, 10.0000"
    for titles, line in ((TITLES, whole_line(START, END)), (INTERVAL_TITLES, interval_line(START, LATER, END))):
        assert titles.count(", ") == line.count(", ")


def test_bench_reads_as_many_records_as_it_says(pybroker: Pybroker, topic: str) -> None:
    assert pybroker("topics", "create", topic, "-p", "2").code == 0
    pybroker("bench", "produce", topic, "--records", "5000", "--record-size", "50", "--batch", "8000")
    for arguments, records, words in (
        ([], 5000, ""),
        (["--records", "777"], 777, ""),
        (["--interval", "1"], 5000, ""),
        (["--records", "6000"], 5000, "only 5,000 records are there\n"),
    ):
        ran = pybroker("bench", "consume", topic, *arguments)
        assert (ran.code, ran.err) == (0, words)
        titles, line = (each.split(", ") for each in ran.out.splitlines())
        found = dict(zip(titles, line, strict=True))
        assert found["data.consumed.in.nMsg"] == str(records)
        assert float(found["data.consumed.in.MB"]) == pytest.approx(records * 50 / (1 << 20), abs=1e-4)
