"""The command ``pybroker``: arguments, exit codes, and errors in one line."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.broker.commands.command_line import main
from pybroker.broker.process.log_lines import OneLineFormatter
from pybroker.broker.start_error import StartError
from pybroker.config.config import Config
from pybroker.config.config_error import ConfigError


class Broker:
    """Stands where the broker would run; keeps the settings it was given, and ends as it is told."""

    def __init__(self, end: int | Exception | type[BaseException] = 0) -> None:
        self.end = end
        self.config: Config | None = None

    def __call__(self, config: Config) -> int:
        self.config = config
        if isinstance(self.end, int):
            return self.end
        raise self.end


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    """Restores the root logger, which the command configures."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def never_run(config: Config) -> int:
    raise AssertionError("the broker must not be started")


def error_line(captured: pytest.CaptureFixture[str]) -> str:
    output = captured.readouterr()
    assert output.out == ""
    assert output.err.startswith("pybroker: ")
    assert output.err.count("\n") == 1
    return output.err.removeprefix("pybroker: ").rstrip("\n")


def test_broker_without_arguments_runs_with_defaults() -> None:
    broker = Broker()
    assert main([], run=broker) == 0
    assert broker.config is not None
    assert broker.config.log_dirs == ("./pybroker-data",)


@pytest.mark.parametrize(
    ("arguments", "listeners"),
    [
        ([], "PLAINTEXT://localhost:9092"),
        (["--override", "num.partitions=2"], "PLAINTEXT://localhost:9092"),
        (["--override", "listeners=PLAINTEXT://:9092"], "PLAINTEXT://:9092"),
        (["--override", "advertised.listeners=PLAINTEXT://a:9092"], "PLAINTEXT://:9092"),
        (["--override", "zookeeper.connect=a:2181"], "PLAINTEXT://:9092"),
    ],
)
def test_broker_without_a_file_listens_on_this_machine_only_unless_told(arguments: list[str], listeners: str) -> None:
    broker = Broker()
    assert main(arguments, run=broker) == 0
    assert broker.config is not None
    assert broker.config.string("listeners") == listeners


def test_broker_with_a_file_listens_where_kafka_does(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("")
    broker = Broker()
    assert main(["--config", str(file)], run=broker) == 0
    assert broker.config is not None
    assert broker.config.string("listeners") == "PLAINTEXT://:9092"


def test_command_returns_the_exit_code_of_the_broker() -> None:
    assert main([], run=Broker(1)) == 1


def test_file_and_overrides_reach_the_broker(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=3\nbroker.rack=a\n", encoding="latin-1")
    broker = Broker()
    arguments = ["--config", str(file), "--override", "num.partitions=4", "--override=log.dirs=/a=b,/c"]
    assert main(arguments, run=broker) == 0
    assert broker.config is not None
    assert broker.config.int("num.partitions") == 4
    assert broker.config.string("broker.rack") == "a"
    assert broker.config.log_dirs == ("/a=b", "/c")


def test_the_last_of_two_overrides_wins() -> None:
    broker = Broker()
    assert main(["--override", "num.partitions=4", "--override", " num.partitions =5"], run=broker) == 0
    assert broker.config is not None
    assert broker.config.int("num.partitions") == 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bogus"], "--bogus"),
        (["--config"], "expected one argument"),
        (["--config", "/no/such/file"], "/no/such/file: cannot be read: No such file or directory; correct the path"),
        (["--config", "/"], "/: cannot be read: it is a directory, not a file; move it away"),
        (["server.properties"], "--config server.properties"),
        (["start"], "start: unknown command; commands: "),
        (["streams", "--list"], "streams: unknown command; commands: "),
        (["kafka-topics.sh", "--list"], "kafka-topics.sh: unknown command; did you mean kafka-topics?"),
        (["kafka-consumer-group"], "kafka-consumer-group: unknown command; did you mean kafka-consumer-groups?"),
        (["kafka-server.properties"], "--config kafka-server.properties"),
        (["topcs", "--config"], "topcs: unknown command; did you mean topics?"),
        (["server.properties", "--daemon"], "for a file of settings write --config server.properties"),
        (["--log-level", "info", "topics", "--list"], "topics: a command must be the first argument"),
        (["--list", "topics"], "unrecognized arguments: --list"),
        (["--override", "num.partitions"], "--override num.partitions: must be NAME=VALUE"),
        (["--override", "=5"], "must be NAME=VALUE"),
        (["--override", "num.partitions=many"], "num.partitions=many (--override): must be a whole number"),
        (["--override", "listeners=9092"], "listeners=9092 (--override): 9092 must be NAME://host:port"),
        (["--override", "process.roles=broker"], "no KRaft mode"),
        (["--override", "listeners=SASL_SSL://:9093"], "mechanism GSSAPI (Kerberos) is not supported"),
        (["--log-level", "loud"], "loud must be one of debug, info, warning, error"),
        (["--conf", "x"], "--conf"),
    ],
)
def test_bad_input_gets_one_line_and_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments, run=never_run) == 2
    assert words in error_line(capsys)


def test_a_bad_line_of_the_file_is_named_with_its_number(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_text("# a comment\n\nnum.io.threads = -3\n", encoding="latin-1")
    assert main(["--config", str(file)], run=never_run) == 2
    assert error_line(capsys) == "num.io.threads=-3 (server.properties line 3): must be at least 1"


def test_kraft_settings_file_of_several_nodes_is_refused_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kraft = tmp_path / "kraft.properties"
    kraft.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@a:9093,2@b:9093\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ninter.broker.listener.name=PLAINTEXT\n"
        "advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093\n"
        "controller.listener.names=CONTROLLER\n",
        encoding="latin-1",
    )
    assert main(["--config", str(kraft)], run=never_run) == 2
    assert "remove these settings to run a single broker" in error_line(capsys)


@pytest.mark.parametrize(
    ("end", "code", "line"),
    [
        (StartError("port 9092 of 127.0.0.1 is in use"), 1, "port 9092 of 127.0.0.1 is in use"),
        (StartError("two\nlines"), 1, "two lines"),
        (ConfigError("broker.id=5: differs from meta.properties"), 2, "broker.id=5: differs from meta.properties"),
    ],
)
def test_failed_start_prints_one_line(end: Exception, code: int, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], run=Broker(end)) == code
    assert error_line(capsys) == line


def test_interrupt_before_signal_handlers_are_installed_prints_no_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main([], run=Broker(KeyboardInterrupt)) == 130
    assert capsys.readouterr().err == ""


def test_an_error_of_the_program_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        main([], run=Broker(ZeroDivisionError()))


def test_settings_that_do_not_do_what_they_say_are_logged_before_the_broker_runs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["--override", "metrics.num.samples=3", "--override", "nonsense=1"], run=Broker()) == 0
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2
    assert "WARNING" in lines[0]
    assert "metrics.num.samples (--override) has no effect yet" in lines[0]
    assert "nonsense (--override) is ignored" in lines[1]


def test_log_level_is_taken_in_any_case(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--log-level", "Error", "--override", "nonsense=1"], run=Broker()) == 0
    assert capsys.readouterr().err == ""
    assert logging.getLogger().level == logging.ERROR


def test_help_lists_the_options_and_common_settings(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"], run=never_run) == 0
    text = capsys.readouterr().out
    for words in (
        "--config",
        "--override",
        "--print-config",
        "--version",
        "--log-level",
        "listeners=PLAINTEXT://:9092",
        "pybroker kafka-topics",
    ):
        assert words in text
    assert "exit codes" in text


def test_version_prints_the_versions_of_pybroker_and_of_kafka(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"], run=never_run) == 0
    text = capsys.readouterr().out
    assert text.startswith("pybroker ")
    assert "Apache Kafka 3.9" in text


def test_print_config_prints_every_setting_with_its_source(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--print-config", "--override", "num.partitions=4"], run=never_run) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "num.partitions=4 (override)" in lines
    assert "num.io.threads=8 (default)" in lines
    assert len(lines) > 300


def test_a_reader_that_leaves_early_does_not_make_a_traceback() -> None:
    command = [sys.executable, "-m", "pybroker", "--print-config"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 0


def test_bad_input_does_not_import_the_broker() -> None:
    program = (
        "import sys; from pybroker.broker.commands.command_line import main; "
        "code = main(['--override', 'num.partitions=x']); "
        "heavy = {'asyncio', 'uvloop', 'sqlite3', 'pybroker.broker.server'} & set(sys.modules); "
        "sys.exit(9 if heavy else code)"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ended.returncode == 2, ended.stderr


@pytest.mark.parametrize(
    "module",
    [
        "pybroker.broker.commands.command_line",
        "pybroker.config.config",
        "argparse",
        "pybroker.broker.server",
        "asyncio",
    ],
)
def test_ctrl_c_during_the_imports_is_quiet(module: str) -> None:
    program = (
        "import os, runpy, signal, sys\n"
        "class Interrupting:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}:\n"
        "            os.kill(os.getpid(), signal.SIGINT)\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell ignores SIGINT in background jobs
        "sys.meta_path.insert(0, Interrupting())\n"
        "sys.argv[1:] = []\n"
        "assert not {'argparse', 'asyncio'} & set(sys.modules)\n"
        "runpy.run_module('pybroker', run_name='__main__')\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (ended.stderr, ended.returncode) == ("", 130)


def record(message: str) -> logging.LogRecord:
    return logging.LogRecord("pybroker.x", logging.INFO, __file__, 1, message, None, None)


def test_log_event_stays_one_line_with_any_client_id() -> None:
    line = OneLineFormatter("%(message)s").format(record("client a\nb\r\x1b[31m ü came"))
    assert line == "client a\\nb\\r\\x1b[31m ü came"


def test_a_traceback_keeps_its_lines() -> None:
    try:
        raise ValueError("x")
    except ValueError:
        with_traceback = record("failed")
        with_traceback.exc_info = sys.exc_info()
    assert OneLineFormatter("%(message)s").format(with_traceback).startswith("failed\nTraceback")
