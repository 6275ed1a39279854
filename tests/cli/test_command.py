"""Tests of what all commands for a cluster have in common: help, exit codes, one line for each error."""

import os
import pty
import subprocess
import sys

import pytest
from pybroker.base.command_parser import CommandError
from pybroker.broker.commands.command_line import main
from pybroker.cli.command import verb_parser
from pybroker.cli.exit_codes import exit_code_of, refusal
from pybroker.cli.nouns import NOUNS
from pybroker.client.given_options import OptionError
from pybroker.protocol.errors import ErrorCode, error_for
from support.clients.commands import Pybroker
from support.processes.ports import free_port


@pytest.mark.parametrize("name", NOUNS)
def test_help_of_a_noun_names_its_verbs_and_the_exit_codes(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert all(verb.name in text for verb in NOUNS[name].load().verbs)
    assert "exit codes: 0 done" in text


@pytest.mark.parametrize("name", NOUNS)
def test_each_verb_has_a_summary_and_a_help(name: str) -> None:
    noun = NOUNS[name].load()
    assert noun.name == name
    for verb in noun.verbs:
        assert verb.summary
        assert not verb.summary.endswith(".")
        options = verb_parser(noun, verb).format_help()
        assert "--bootstrap-server" in options
        assert "--no-color" in options
        assert ("--dry-run" in options) == verb.changes


def test_unknown_option_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "list", "--bootstrap-servers", "127.0.0.1:1"]) == 2
    assert "did you mean --bootstrap-server? (see" in capsys.readouterr().err


def test_topics_list_imports_no_other_verb_of_topics() -> None:
    program = "\n".join(
        (
            "import sys",
            "from pybroker.broker.commands.command_line import main",
            "main(['topics', 'list', '--help'])",
            "print(*(name for name in sys.modules if name.startswith('pybroker.cli.topics.')))",
        )
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    imported = {name.rpartition(".")[2] for name in ran.stdout.splitlines()[-1].split()}
    assert imported == {"noun", "list_topics", "found_topics", "shapes"}


def test_unknown_verb_suggests_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topics", "lst"]) == 2
    assert capsys.readouterr().err == (
        "pybroker: topics lst: unknown command; did you mean list? (see pybroker topics --help)\n"
    )


def test_address_where_nothing_listens_is_a_failure_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    address = f"127.0.0.1:{free_port()}"
    assert main(["topics", "list", "-b", address]) == 1
    error = capsys.readouterr().err
    cause = "connection refused: nothing listens there (pybroker doctor says more)"
    assert error == f"pybroker: no connection to {address}: {cause}\n"


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [
        (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, 3),
        (ErrorCode.GROUP_ID_NOT_FOUND, 3),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, 4),
        (ErrorCode.SASL_AUTHENTICATION_FAILED, 4),
        (ErrorCode.REQUEST_TIMED_OUT, 5),
        (ErrorCode.POLICY_VIOLATION, 1),
        (9999, 1),
    ],
)
def test_exit_code_of_an_error_of_the_protocol(code: int, exit_code: int) -> None:
    assert exit_code_of(code) == exit_code


def test_errors_become_one_line_with_the_name_of_the_code() -> None:
    refused = refusal(error_for(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "topic a: it is not there"))
    assert str(refused) == "topic a: it is not there (UNKNOWN_TOPIC_OR_PARTITION)"
    assert [getattr(refusal(error), "exit_code", None) for error in (TimeoutError(), OptionError(), ValueError())] == [
        5,
        2,
        None,
    ]


@pytest.mark.parametrize(
    ("arguments", "is_buffered"),
    [(("topics", "list", "-o", "json"), True), (("topics", "list"), False), (("kafka-topics", "--list"), False)],
)
def test_reader_that_goes_away_is_no_error(
    servers: str, pybroker: Pybroker, topic: str, arguments: tuple[str, ...], is_buffered: bool
) -> None:
    pybroker("topics", "create", topic)
    command = [sys.executable, *(() if is_buffered else ("-u",)), "-m", "pybroker", *arguments]
    command += ["--bootstrap-server", servers]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, error = process.communicate()
    assert error == b""
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "is_buffered"),
    [
        (("topics", "list"), True),
        (("consume", "{t}", "--until", "end", "--format", "json"), True),
        (("topics", "--help"), True),
        (("kafka-topics", "--list"), True),
        (("kafka-topics", "--list"), False),
    ],
)
def test_full_disk_below_the_output_gives_one_line(
    servers: str, pybroker: Pybroker, topic: str, arguments: tuple[str, ...], is_buffered: bool
) -> None:
    pybroker("topics", "create", topic)
    command = [sys.executable, *(() if is_buffered else ("-u",)), "-m", "pybroker"]
    command += [*(each.format(t=topic) for each in arguments), "--bootstrap-server", servers]
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.stderr == "pybroker: standard output cannot be written: No space left on device\n"
    assert ran.returncode == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("topics list", "--timeout", "abc"), "argument --timeout: must be a number, not 'abc'"),
        (("consume", "-n", "1.5"), "argument -n/--count: must be a whole number, not '1.5'"),
        (("produce", "-p", "x"), "argument -p/--partition: must be a whole number, not 'x'"),
    ],
)
def test_text_that_is_no_number_is_refused_without_the_name_of_a_function(
    arguments: tuple[str, ...], reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments[0].split(), *arguments[1:]]) == 2
    assert capsys.readouterr().err == f"pybroker: {reason} (see pybroker {arguments[0]} --help)\n"


def test_person_is_asked_before_records_are_lost(servers: str, pybroker: Pybroker, topic: str) -> None:
    pybroker("topics", "create", topic)
    terminal, end = pty.openpty()
    command = [sys.executable, "-m", "pybroker", "topics", "delete", topic, "-b", servers]
    process = subprocess.Popen(command, stdin=end, stdout=subprocess.DEVNULL, stderr=end)
    os.close(end)
    asked = b""
    while b"[y/N]" not in asked:
        asked += os.read(terminal, 1000)
    assert f"Delete {topic} with all records?".encode() in asked
    os.write(terminal, b"n\n")
    asked = _read_to_end(terminal)
    assert b"nothing was changed" in asked
    assert process.wait() == 1
    assert topic in pybroker("topics", "list", "-o", "name").out.split()


def _read_to_end(terminal: int) -> bytes:
    found = b""
    while True:
        try:
            found += os.read(terminal, 1000)
        except OSError:  # the other end of the terminal is closed
            os.close(terminal)
            return found


def test_without_a_terminal_a_deletion_needs_a_word(
    pybroker: Pybroker, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pybroker("topics", "create", topic)
    with open(os.devnull) as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        ran = pybroker("topics", "delete", topic)
    assert (ran.code, ran.out) == (2, "")
    assert "give --yes" in ran.err


def test_refusal_keeps_an_error_of_a_command() -> None:
    error = CommandError("no", 3)
    assert refusal(error) is error
