"""Scripts with Kafka's names print what the scripts of Apache Kafka 3.9.1 printed, and exit with the same code.

The recorded lines ran one after another on one broker. With ``--long`` Kafka's scripts run again beside ours.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from pybroker.broker.commands.command_line import main
from support.clients.recorded_scripts import CLASSES, RECORDINGS, Recording, comparable, comparable_error
from support.processes.broker_process import BrokerProcess
from support.processes.java import java_command

FILES = [pytest.param(file, id=file.stem) for file in RECORDINGS]


@pytest.mark.parametrize("file", FILES)
def test_script_prints_what_kafkas_script_printed(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = Recording(file, tmp_path)
    given = tmp_path / "stdin"
    with BrokerProcess(tmp_path, recording.settings) as broker:
        for recorded in recording.lines:
            arguments = recording.prepare(recorded, broker.bootstrap_servers)
            if arguments is None:
                continue
            given.write_bytes(recorded.get("stdin", "").encode())
            with given.open() as stdin:
                monkeypatch.setattr(sys, "stdin", stdin)
                code = main(arguments)
            printed, line = capsys.readouterr(), recorded["line"]
            assert (line, comparable(recording.unfilled(printed.out))) == (line, comparable(recorded["stdout"]))
            assert (line, code) == (line, recorded["code"])
            error = comparable_error(recording.unfilled(printed.err))
            assert (line, error) == (line, comparable_error(recorded["stderr"]))


@pytest.mark.long
@pytest.mark.parametrize("file", FILES)
def test_recorded_lines_are_what_kafkas_script_prints(file: Path, tmp_path: Path) -> None:
    recording = Recording(file, tmp_path)
    with BrokerProcess(tmp_path, recording.settings) as broker:
        for recorded in recording.lines:
            arguments = recording.prepare(recorded, broker.bootstrap_servers)
            if arguments is None:
                continue
            command = java_command(CLASSES[arguments[0]], *arguments[1:])
            given, line = recorded.get("stdin", ""), recorded["line"]
            done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
            assert (line, comparable(recording.unfilled(done.stdout))) == (line, comparable(recorded["stdout"]))
            assert (line, done.returncode) == (line, recorded["code"])
