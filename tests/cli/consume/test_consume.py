"""Tests of ``pybroker consume``."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pybroker.base.command_parser import CommandError
from pybroker.cli.consume.places import Place, parse_start, parse_until
from pybroker.cli.consume.shapes import ConsumedRecord
from support.clients.commands import Pybroker, rows_of
from support.clients.foreign_clients import kcat_command
from support.time.patience import await_that

START_MS = 1_700_000_000_000


@pytest.fixture
def filled(pybroker: Pybroker, servers: str, topic: str) -> str:
    """A topic of two partitions with v0 … v3 and v4 … v7, a second apart."""
    pybroker("topics", "create", topic, "-p", "2")
    producer = Producer({"bootstrap.servers": servers})
    for number in range(8):
        producer.produce(
            topic,
            f"v{number}",
            f"k{number}",
            partition=number // 4,
            timestamp=START_MS + number % 4 * 1_000,
            headers={"n": str(number)},
        )
    assert producer.flush() == 0
    return topic


def consumed(pybroker: Pybroker, *arguments: str) -> list[str]:
    ran = pybroker("consume", *arguments)
    assert (ran.code, ran.err) == (0, "")
    return ran.out.splitlines()


@pytest.mark.parametrize(
    ("partitions", "arguments", "values"),
    [
        ("", (), "01234567"),
        (":1", (), "4567"),
        (":0-1", ("-o", "-1"), "37"),
        ("", ("-o", "2"), "2367"),
        ("", ("-o", "end"), ""),
        ("", ("-o", "4"), ""),
        ("", ("-o", f"@{START_MS + 1_001}"), "2367"),
        ("", ("--until", "+1"), "04"),
        ("", ("-o", "1", "--until", "+2"), "1256"),
        ("", ("--until", f"@{START_MS + 1_000}"), "04"),
        ("", ("--until", "@2033-01-01"), "01234567"),
        (":0", ("-n", "3"), "012"),
        (":0", ("-n", "2", "--rate", "1e6"), "01"),
        ("", ("--filter", "v2 or key=k7"), "27"),
        ("", ("--filter", "offset>=3"), "37"),
        (":1", ("--filter", "v", "-n", "2"), "45"),
    ],
)
def test_chosen_values_are_printed(
    pybroker: Pybroker, filled: str, partitions: str, arguments: tuple[str, ...], values: str
) -> None:
    until = () if "--until" in arguments else ("--until", "end")
    printed = consumed(pybroker, f"{filled}{partitions}", *until, *arguments)
    assert sorted(printed) == [f"v{number}" for number in values]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("-f", "%t %p %o %T %k %v %s %h %K %V %%\\x21\\n"), "{t} 0 1 1700000001000 k1 v1 v1 n=1 2 2 %!"),
        (("--headers",), "n=1\tv1"),
        (("--format", "hex"), "7631"),
        (("--format", "base64"), "djE="),
        (("--format", "raw"), "v1"),
    ],
)
def test_forms(pybroker: Pybroker, filled: str, arguments: tuple[str, ...], line: str) -> None:
    assert consumed(pybroker, f"{filled}:0", "-o", "1", "-n", "1", *arguments) == [line.format(t=filled)]


def test_format_strings_mean_what_they_mean_to_kcat(pybroker: Pybroker, servers: str, topic: str) -> None:
    kcat = kcat_command()
    text = r"%t [%p] %o %T|%k|%s|%h|%K %S %R%%\x41\x4\101\n\t\r\\\q;"
    pybroker("topics", "create", topic)
    producer = Producer({"bootstrap.servers": servers})
    headers: list[tuple[str, str | bytes | None]] = [("a", b"1"), ("a", None), ("b", b""), ("c", b"\xff,=")]
    producer.produce(topic, b"v", b"k", timestamp=START_MS, headers=headers)
    for number, data in enumerate((None, b"", b"\xff\n\0x"), 1):
        producer.produce(topic, data, data, timestamp=START_MS + number)
    assert producer.flush() == 0
    command = (kcat, "-b", servers, "-C", "-t", topic, "-o", "beginning", "-e", "-q", "-f", text)
    expected = subprocess.run(command, check=True, capture_output=True).stdout
    ours = (sys.executable, "-m", "pybroker", "consume", topic, "--until", "end", "-b", servers, "-f", text)
    assert subprocess.run(ours, check=True, capture_output=True).stdout == expected


def test_json_is_one_array_and_jsonl_one_object_a_line(pybroker: Pybroker, filled: str) -> None:
    lines = consumed(pybroker, filled, "--until", "end", "--format", "jsonl")
    array = consumed(pybroker, filled, "--until", "end", "--format", "json")
    assert json.loads("".join(array)) == [json.loads(line) for line in lines]
    assert json.loads(lines[0]) | {"partition": 0, "offset": 0} == {
        "topic": filled,
        "partition": 0,
        "offset": 0,
        "timestamp_ms": START_MS,
        "key": "k0" if "k0" in lines[0] else "k4",
        "value": "v0" if "k0" in lines[0] else "v4",
        "headers": [{"name": "n", "value": "0" if "k0" in lines[0] else "4"}],
    }
    assert consumed(pybroker, filled, "-o", "end", "--until", "end", "--format", "json") == ["[]"]


@pytest.mark.parametrize(
    ("arguments", "code", "reason"),
    [
        (("{t}:7",), 3, "no partitions 7-7; last: 1"),
        (("{t}:1-0",), 3, "no partitions 1-0; last: 1"),
        (("{t}:x",), 2, "must be TOPIC, TOPIC:PARTITION or TOPIC:FIRST-LAST"),
        (("{t}", "-o", "soon"), 2, "must be start, end"),
        (("{t}", "--until", "start"), 2, "must be end, +10"),
        (("{t}", "--until", "end", "--follow"), 2, "exclude each other"),
        (("{t}", "-f", "%z"), 2, "%z is not one of %t"),
        (("{t}", "--filter", "("), 2, "--filter: "),
        (("{t}", "-n", "0"), 2, "must be 1 or more"),
        (("{t}x", "--until", "end"), 3, "does not exist; did you mean"),
    ],
)
def test_wrong_argument_gives_one_line(
    pybroker: Pybroker, filled: str, arguments: tuple[str, ...], code: int, reason: str
) -> None:
    ran = pybroker("consume", *(each.format(t=filled) for each in arguments))
    assert (ran.code, ran.out) == (code, "")
    assert reason in ran.err
    assert ran.err.count("\n") == 1


def test_offset_outside_of_the_log_is_told_with_the_range(pybroker: Pybroker, filled: str) -> None:
    for partitions, where in ("", f"{filled}-0 (2 to 4), {filled}-1 (0 to 4)"), (":1", f"{filled}-1 (0 to 4)"):
        pybroker("topics", "truncate", f"{filled}:0", "--before", "2", "-y")
        ran = pybroker("consume", f"{filled}{partitions}", "-o", "5", "--until", "end")
        line = f"offset 5 is out of range in {where}; reading begins at the nearest offset that is there\n"
        assert (ran.code, ran.out, ran.err) == (0, "", line)
    assert f" in {filled}-0 (2 to 4); " in pybroker("consume", filled, "-o", "1", "--until", "end").err


def test_last_records_are_counted_without_markers_of_transactions(
    pybroker: Pybroker, filled: str, tmp_path: Path
) -> None:
    for number in range(3):
        (tmp_path / "input").write_text(f"t{number}\n")
        pybroker("produce", filled, "-p", "0", "--txn-id", filled, "-l", str(tmp_path / "input"))
    at = f"{filled}:0"
    assert consumed(pybroker, at, "-o", "-1", "--until", "end") == ["t2"]
    assert consumed(pybroker, at, "-o", "-4", "--until", "end") == ["v3", "t0", "t1", "t2"]
    assert consumed(pybroker, at, "-o", "-4", "--until", "end", "--read-committed") == ["v3", "t0", "t1", "t2"]
    assert len(consumed(pybroker, at, "-o", "-99", "--until", "end")) == 7
    assert len(consumed(pybroker, filled, "-o", "-5", "--until", "end")) == 9


def test_places_are_read() -> None:
    assert parse_start("-12") == Place("last", 12)
    assert parse_start("@2026-11-25T08:00") == Place("time", 1_795_593_600_000)
    assert parse_start("@-1h").number < parse_start("@-1m").number
    assert parse_until("+3") == Place("further", 3)
    with pytest.raises(CommandError):
        parse_start("-")


def test_control_characters_of_a_record_do_not_reach_a_terminal(
    pybroker: Pybroker, servers: str, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pybroker("topics", "create", topic)
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, b"\x1b]0;owned\x07\xff\nx", headers={"\x1b[2J": b"\x1b[A"})
    assert producer.flush() == 0
    ours, terminal = pty.openpty()
    with os.fdopen(terminal, "w") as screen:
        monkeypatch.setattr("sys.stdout", screen)
        forms: tuple[tuple[str, ...], ...] = ((), ("--headers",), ("-f", "%k %v %h\n"), ("--format", "jsonl"))
        for arguments in forms:
            pybroker("consume", topic, "--until", "end", *arguments)
        shown = b""
        while not shown.endswith(b"}\r\n"):  # the end of the last form; a read gives what has come so far
            shown += os.read(ours, 9_999)
    os.close(ours)
    assert shown.count(b"owned") == 3
    assert shown.replace(b"\r\n", b"").isascii()
    assert b"".join(shown.split(b"\r\n")).decode().replace("\t", "").isprintable()


def test_member_of_a_group_goes_on_behind_what_it_committed(pybroker: Pybroker, filled: str) -> None:
    def read(*arguments: str) -> list[str]:
        return consumed(pybroker, filled, "-g", f"group-{filled}", *arguments)

    first = read("--until", "end", "-n", "3", "--commit")
    rest = read("--until", "end")
    assert sorted(first + rest) == [f"v{number}" for number in range(8)]
    assert read("--until", "end", "--commit") == rest, "without --commit nothing is committed"
    assert read("--until", "end") == []


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [(("{t}", "--commit"), "--commit needs --group"), (("{t}:0", "-g", "g"), "--group reads whole topics")],
)
def test_group_options_exclude_others(pybroker: Pybroker, filled: str, arguments: tuple[str, ...], reason: str) -> None:
    ran = pybroker("consume", *(each.format(t=filled) for each in arguments))
    assert (ran.code, reason in ran.err) == (2, True)


def test_member_that_read_whole_batches_goes_on_at_the_next_one(pybroker: Pybroker, topic: str, tmp_path: Path) -> None:
    pybroker("topics", "create", topic)
    for lines in ("a\nb\n", "c\nd\n"):
        (tmp_path / "input").write_text(lines)
        pybroker("produce", topic, "-l", str(tmp_path / "input"))
    read = (topic, "-g", f"group-{topic}", "-n", "2", "--commit")
    assert [consumed(pybroker, *read), consumed(pybroker, *read)] == [["a", "b"], ["c", "d"]]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize(
    "words",
    ["consume {t} -g group-{t} --commit", "kafka-console-consumer --topic {t} --group group-{t} --from-beginning"],
)
def test_member_that_is_ended_commits_what_it_printed_and_leaves(
    pybroker: Pybroker, servers: str, filled: str, words: str, number: signal.Signals
) -> None:
    arguments = words.format(t=filled).split()
    command = (sys.executable, "-m", "pybroker", *arguments, "--bootstrap-server", servers)
    with subprocess.Popen(command, stdout=subprocess.PIPE) as member:
        assert member.stdout is not None
        printed = {member.stdout.readline() for _ in range(8)}
        member.send_signal(number)
    (group,) = json.loads(pybroker("groups", "describe", f"group-{filled}", "-o", "json").out)
    assert group["members"] == []
    assert (member.returncode, printed) == (128 + number, {b"v%d\n" % number for number in range(8)})
    assert consumed(pybroker, filled, "-g", f"group-{filled}", "--until", "end") == []


@pytest.mark.parametrize("other", [("--format", "json"), ("--headers",)])
def test_format_string_excludes_other_forms(pybroker: Pybroker, filled: str, other: tuple[str, ...]) -> None:
    ran = pybroker("consume", filled, "-f", "%v", *other)
    assert (ran.code, ran.out) == (2, "")
    assert "--format-string excludes" in ran.err


def test_slow_member_that_is_ended_commits_what_it_printed_of_a_batch(
    pybroker: Pybroker, servers: str, topic: str, tmp_path: Path
) -> None:
    (tmp_path / "input").write_text("".join(f"v{number}\n" for number in range(1000)))
    assert pybroker("topics", "create", topic).code == 0
    assert pybroker("produce", topic, "-l", str(tmp_path / "input")).code == 0
    words = f"consume {topic} -g group-{topic} --commit --rate 10 -b {servers}".split()
    with subprocess.Popen((sys.executable, "-m", "pybroker", *words), stdout=subprocess.PIPE) as member:
        assert member.stdout is not None
        printed = [member.stdout.readline() for _ in range(3)]
        member.send_signal(signal.SIGINT)
        printed += member.stdout.readlines()
    assert (member.returncode, printed) == (130, [b"v%d\n" % number for number in range(len(printed))])
    (next_one,) = consumed(pybroker, topic, "-g", f"group-{topic}", "-n", "1")
    assert next_one == f"v{len(printed)}"


def test_slow_member_commits_and_shares_its_partitions_within_a_batch(
    pybroker: Pybroker, servers: str, topic: str, tmp_path: Path
) -> None:
    assert pybroker("topics", "create", topic, "-p", "2").code == 0
    for partition in ("0", "1"):
        (tmp_path / "input").write_text("".join(f"{partition}-{number}\n" for number in range(2000)))
        assert pybroker("produce", topic, "-p", partition, "-l", str(tmp_path / "input")).code == 0
    words = f"consume {topic} -g group-{topic} --commit --rate 20 -b {servers}".split()
    command = (sys.executable, "-m", "pybroker", *words)

    def committed() -> int:
        found = json.loads(pybroker("groups", "describe", f"group-{topic}", "-o", "json").out)
        return sum(each["committed"] or 0 for group in found for each in group["partitions"])

    with subprocess.Popen(command, stdout=subprocess.PIPE) as first:
        await_that(committed, "the member commits while it prints")
        with subprocess.Popen(command, stdout=subprocess.PIPE) as second:
            assert first.stdout is not None
            assert second.stdout is not None
            of_second = second.stdout.readline()
            for member in (first, second):
                member.kill()  # so that neither commits anything at its end
            of_first = first.stdout.readlines()
    assert of_second not in of_first
    assert len(of_first) < 2000, "the second member waited until the first one had printed its batch"


def test_json_of_records_has_the_documented_shape(pybroker: Pybroker, servers: str, topic: str) -> None:
    pybroker("topics", "create", topic)
    producer = Producer({"bootstrap.servers": servers})
    producer.produce(topic, b"\xff", b"\xff", headers=[("a", None), ("b", b"\xff"), ("c", b"d")])
    producer.produce(topic, None, None)
    assert producer.flush() == 0
    printed = pybroker("consume", topic, "--until", "end", "--format", "json").out
    whole, tombstone = rows_of(printed, ConsumedRecord)
    assert (whole["key_base64"], whole["value_base64"]) == ("/w==", "/w==")
    assert [each["name"] for each in whole["headers"]] == ["a", "b", "c"]
    assert (tombstone["key"], tombstone["value"], tombstone["headers"]) == (None, None, [])
