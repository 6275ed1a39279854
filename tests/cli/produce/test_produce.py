"""Tests of ``pybroker produce``; what it wrote is read with ``pybroker consume``."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pybroker.base.command_parser import CommandError
from pybroker.base.topic_partition import TopicPartition
from pybroker.cli.produce import inputs, noun
from pybroker.cli.produce.inputs import csv_records
from pybroker.client.connection import Connection
from pybroker.client.record_json import record_to_json
from pybroker.protocol.records.record import Record
from support.clients.commands import Pybroker, run
from support.processes.broker_process import BrokerProcess

BYTES = st.none() | st.binary(max_size=9) | st.text(max_size=9).map(str.encode)
NAMES = st.binary(max_size=9).map(lambda name: name.decode("utf-8", "surrogateescape"))
HEADERS = st.lists(st.tuples(NAMES, BYTES), max_size=3).map(tuple)
RECORDS = st.lists(st.builds(Record, st.just(0), st.integers(0, 1 << 50), BYTES, BYTES, HEADERS), max_size=30)
LINES = st.binary(max_size=9).map(lambda line: line.replace(b"\n", b""))
FORMAT = "%k=%v %K %V %h\n"


@pytest.fixture
def made(pybroker: Pybroker, topic: str) -> str:
    pybroker("topics", "create", topic, "-p", "3")
    return topic


def produced(pybroker: Pybroker, topic: str, file: Path, *arguments: str) -> list[str]:
    """The records of the topic in FORMAT, sorted, after a run of ``produce``."""
    ran = pybroker("produce", topic, "-l", str(file), *arguments)
    assert (ran.code, ran.err, ran.out) == (0, "", "")
    return sorted(pybroker("consume", topic, "--until", "end", "-f", FORMAT).out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "text", "records"),
    [
        ((), "a\n\nb", ["= -1 0 ", "=a -1 1 ", "=b -1 1 "]),
        (("-k", "k"), "a\n", ["k=a 1 1 "]),
        (("-K", ":", "-H", "h=1", "-H", "h=2"), "k:a:b\nc\n", ["=c -1 1 h=1,h=2", "k=a:b 1 3 h=1,h=2"]),
        (("--tombstone",), "k\n", ["k= 1 -1 "]),
        (("--tombstone", "-k", "gone"), "", ["gone= 4 -1 "]),
        (("--input", "csv", "-k", "d"), '"k,1",v\r\nw\n', ["d=w 1 1 ", "k,1=v 3 1 "]),
        (("--input", "csv"), 'k,"two\nlines"\n5" disk\n', ['=5" disk -1 7 ', "k=two", "lines 1 9 "]),
        (("--input", "raw"), "a b", ["=a b -1 3 "]),
        (("--input", "jsonl", "-H", "b=2"), '{"value": null}\n\n', ["= -1 -1 b=2"]),
        (("--acks", "1", "--compression", "lz4"), "a\n", ["=a -1 1 "]),
        (("--transactional-id", "{t}", "--compression", "zstd"), "a\nb\n", ["=a -1 1 ", "=b -1 1 "]),
        (("--batch", "1", "--rate", "1000000"), "a\nb\n", ["=a -1 1 ", "=b -1 1 "]),
    ],
)
def test_input_becomes_records(
    pybroker: Pybroker, made: str, tmp_path: Path, arguments: tuple[str, ...], text: str, records: list[str]
) -> None:
    (tmp_path / "input").write_text(text, newline="")
    assert produced(pybroker, made, tmp_path / "input", *(each.format(t=made) for each in arguments)) == records


FIELDS = st.text(st.sampled_from('a,"\r\n\0é '))


@given(
    rows=st.lists(st.lists(FIELDS, min_size=2, max_size=2)),
    form=st.sampled_from([("\r\n", csv.QUOTE_MINIMAL), ("\r\n", csv.QUOTE_ALL), ("\n", csv.QUOTE_ALL)]),
    step=st.integers(1, 5),
)
def test_csv_of_another_program_is_read_in_any_pieces(
    rows: list[list[str]], form: tuple[str, Literal[0, 1]], step: int
) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator=form[0], quoting=form[1]).writerows(rows)
    lines = text.getvalue().encode().split(b"\n")[:-1]
    pieces = [lines[begin : begin + step] for begin in range(0, len(lines), step)]
    found = [record for records in csv_records(pieces, None, ()) for record in records]
    assert [[record.key, record.value] for record in found] == [[field.encode() for field in row] for row in rows]


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(records=RECORDS)
def test_jsonl_of_consume_can_be_produced_again(
    pybroker: Pybroker, made: str, tmp_path: Path, records: list[Record]
) -> None:
    lines = [record_to_json(TopicPartition(made, 0), record) for record in records]
    (tmp_path / "input").write_text("".join(f"{line}\n" for line in lines))
    assert pybroker("produce", made, "-p", "1", "--input", "jsonl", "-l", str(tmp_path / "input")).code == 0
    place = f"-{len(lines)}" if lines else "end"
    printed = pybroker("consume", f"{made}:1", "-o", place, "--until", "end", "--format", "jsonl").out.splitlines()
    free = {"offset": 0, "partition": 0}
    assert [json.loads(line) | free for line in printed] == [json.loads(line) | free for line in lines]


def test_offsets_are_printed_when_asked_for(pybroker: Pybroker, made: str, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("a\nb\n")
    for offsets in ("0-1", "2-3"):
        ran = pybroker("produce", made, "-v", "-p", "2", "-l", str(tmp_path / "input"))
        assert ran.out == f"{made}:2 {offsets}\n"


def test_long_input_is_split_into_batches(pybroker: Pybroker, made: str, tmp_path: Path) -> None:
    lines = [f"{number:06d}" + "x" * (number % 300) for number in range(9_000)]
    (tmp_path / "input").write_text("\n".join(lines))
    pybroker("produce", made, "-p", "0", "--batch", "20000", "-l", str(tmp_path / "input"))
    assert pybroker("consume", made, "--until", "end").out.splitlines() == lines


def test_failed_transaction_is_aborted(pybroker: Pybroker, made: str, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("".join(f'{{"value": "{"v" * 900}"}}\n' for _ in range(9)) + "{}\n")
    ran = pybroker(
        *("produce", made, "--input", "jsonl", "--batch", "1000", "--transactional-id", made),
        *("-l", str(tmp_path / "input")),
    )
    assert (ran.code, "line 10: there is no value" in ran.err) == (1, True)
    assert pybroker("consume", made, "--until", "end", "--read-committed").out == ""


def test_dry_run_writes_nothing(pybroker: Pybroker, made: str, tmp_path: Path) -> None:
    (tmp_path / "input").write_text("a\nb\n")
    ran = pybroker("produce", made, "--dry-run", "-l", str(tmp_path / "input"))
    assert ran.err == f"would write 2 records to {made}\n"
    assert pybroker("consume", made, "--until", "end").out == ""


@pytest.mark.parametrize(
    ("arguments", "text", "code", "reason"),
    [
        (("{t}x",), "", 3, "does not exist; did you mean"),
        (("{t}", "-p", "3"), "", 3, "has no partition 3; last: 2"),
        (("{t}", "-H", "x"), "", 2, "must be NAME=VALUE"),
        (("{t}", "--transactional-id", "x", "--acks", "1"), "", 2, "needs --acks all"),
        (("{t}", "--input", "csv"), "a,b,c", 1, "line 1: 3 columns"),
        (("{t}", "--input", "csv"), 'a\n"b\n\n', 1, "line 2: a quoted field that begins here does not end"),
        (("{t}", "--input", "jsonl"), "5", 1, "line 1: must be an object"),
        (("{t}", "-l", "/nowhere"), "", 2, "--file /nowhere: No such file"),
    ],
)
def test_wrong_input_gives_one_line(
    pybroker: Pybroker, made: str, tmp_path: Path, arguments: tuple[str, ...], text: str, code: int, reason: str
) -> None:
    (tmp_path / "input").write_text(text)
    ran = pybroker("produce", "-l", str(tmp_path / "input"), *(each.format(t=made) for each in arguments))
    assert (ran.code, ran.out) == (code, "")
    assert reason in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "arguments", [(), ("--input", "jsonl", "--compression", "lz4"), ("--acks", "1"), ("--transactional-id", "{t}")]
)
def test_batches_that_are_too_large_are_written_in_parts(
    pybroker: Pybroker, topic: str, tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    pybroker("topics", "create", topic, "-c", "max.message.bytes=3000")
    values = [f"{number:05d}" + os.urandom(20).hex() for number in range(1_000)]
    as_json = "--input" in arguments
    text = "".join(f'{{"value": "{value}"}}\n' if as_json else f"{value}\n" for value in values)
    (tmp_path / "input").write_text(text)
    ran = pybroker("produce", topic, "-l", str(tmp_path / "input"), *(each.format(t=topic) for each in arguments))
    assert (ran.code, ran.err) == (0, "")
    assert pybroker("consume", topic, "--until", "end").out.splitlines() == values


def test_record_that_is_too_large_is_named_with_its_limit(pybroker: Pybroker, topic: str, tmp_path: Path) -> None:
    pybroker("topics", "create", topic, "-c", "max.message.bytes=3000")
    (tmp_path / "input").write_text("small\n" + "big" * 1_000 + "\nsmall\n")
    ran = pybroker("produce", topic, "-l", str(tmp_path / "input"))
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"pybroker: {topic}-0: a record of 3,070 bytes (value 'bigbigbigbigbigbigbi…') is too large (MESSAGE_TOO_LARGE)"
        f"; max.message.bytes of the topic is 3000 (pybroker configs set topic/{topic} max.message.bytes=BYTES); "
        "1 record is written\n"
    )
    assert pybroker("consume", topic, "--until", "end").out == "small\n"


@given(lines=st.lists(LINES, max_size=20), tail=LINES)
def test_lines_are_split_at_line_feeds_only(lines: list[bytes], tail: bytes) -> None:
    """A carriage return is a part of the value, as with kcat, and an empty line is an empty value."""
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryFile() as file:
        patch.setattr(inputs, "_READ_BYTES", 3)
        file.write(b"".join(line + b"\n" for line in lines) + tail)
        file.seek(0)
        read = [line for part in inputs.lines_of(file.fileno()) for line in part]
    assert read == lines + [tail] * (tail != b"")


def test_endless_line_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs, "_MAX_LINE_BYTES", 100_000)
    with open("/dev/zero", "rb") as zeros, pytest.raises(CommandError, match="longer than 100,000 bytes"):
        list(inputs.lines_of(zeros.fileno()))


@pytest.mark.parametrize("comes_back", [True, False])
def test_broker_that_dies_costs_no_record_and_doubles_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, comes_back: bool
) -> None:
    """The broker dies when it has written the second batch, before its response arrives."""
    monkeypatch.setattr(noun, "_RETRY_S", 0.0)
    values = [f"{number:05d}" for number in range(5_000)]
    (tmp_path / "input").write_text("\n".join(values))
    with BrokerProcess(tmp_path / "broker") as broker:
        run(broker.bootstrap_servers, "topics", "create", "t")
        receive, seen = Connection.receive, 0

        def dying(connection: Connection) -> Any:
            nonlocal seen
            seen += 1
            if seen == 2:
                broker.kill()
                if comes_back:
                    broker.start()
            return receive(connection)

        monkeypatch.setattr(Connection, "receive", dying)
        arguments = ("-l", str(tmp_path / "input"), "--batch", "3000", "--timeout", "20" if comes_back else "0.5")
        ran = run(broker.bootstrap_servers, "produce", "t", *arguments)
        monkeypatch.undo()
        if not comes_back:
            assert (ran.code, ran.out) == (1, "")
            assert re.search(r"; \d+ records are written, perhaps more\n$", ran.err)
            assert ran.err.count("\n") == 1
            broker.start()
        assert (ran.code == 0) is comes_back
        found = run(broker.bootstrap_servers, "consume", "t", "--until", "end").out.splitlines()
    assert found == (values if comes_back else values[: len(found)])
    assert len(found) >= 142


def test_progress_shows_the_share_of_a_file(
    pybroker: Pybroker, topic: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    pybroker("topics", "create", topic)
    file = tmp_path / "lines"
    file.write_text("value\n" * 1000)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    assert pybroker("produce", topic, "-l", str(file)).code == 0
    assert terminal.getvalue().split("\r")[-1].startswith(f"[{'#' * 30}] 100% 1,000 records written, ")


def test_slow_produce_ends_at_ctrl_c_and_has_written_the_first_records(
    pybroker: Pybroker, servers: str, topic: str, tmp_path: Path
) -> None:
    assert pybroker("topics", "create", topic).code == 0
    (tmp_path / "input").write_text("".join(f"v{number}\n" for number in range(1000)))
    words = f"produce {topic} -l {tmp_path / 'input'} --rate 10 -v -b {servers}".split()
    with subprocess.Popen((sys.executable, "-u", "-m", "pybroker", *words), stdout=subprocess.PIPE) as writer:
        assert writer.stdout is not None
        writer.stdout.readline()
        writer.send_signal(signal.SIGINT)
        writer.stdout.read()
    written = pybroker("consume", topic, "--until", "end").out.splitlines()
    assert (writer.returncode, written) == (130, [f"v{number}" for number in range(len(written))])
    assert 0 < len(written) < 1000
