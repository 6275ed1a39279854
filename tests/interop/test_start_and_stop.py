"""Tests of error messages at a wrong start of the broker, and of stops."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from kafka import KafkaProducer
from support.processes.broker_process import PYBROKER, BrokerProcess, DidNotStartError
from support.processes.forked_process import run_forked


def pybroker(*arguments: str, cwd: Path) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "pybroker", *arguments]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)


def refused(broker: BrokerProcess) -> DidNotStartError:
    with pytest.raises(DidNotStartError) as caught:
        broker.start()
    broker.stop()
    return caught.value


def last_line(output: str) -> str:
    return output.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("num.io.threads=many", "num.io.threads"),
        ("log.segment.bytes=3", "log.segment.bytes"),
        ("process.roles=broker", "process.roles"),
        ("authorizer.class.name=com.example.OwnAuthorizer", "authorizer.class.name"),
        ("listeners=WHAT://127.0.0.1:0", "WHAT"),
        ("ssl.engine.factory.class=com.example.OwnFactory", "ssl.engine.factory.class"),
    ],
)
def test_unsupported_setting_exits_with_code_2_and_one_line(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "server.properties"
    file.write_text(f"log.dirs={tmp_path / 'data'}\n{line}\n")
    exit_code, output = run_forked(["--config", str(file)], tmp_path)
    assert exit_code == 2
    (only,) = output.strip().splitlines()
    assert said in only
    assert "Traceback" not in output
    assert not (tmp_path / "data").exists()


def test_missing_file_and_unknown_option_exit_with_code_2(tmp_path: Path) -> None:
    missing = pybroker("--config", "nowhere.properties", cwd=tmp_path)
    assert (missing.returncode, len(missing.stderr.strip().splitlines())) == (2, 1)
    assert "nowhere.properties" in missing.stderr
    assert pybroker("--nonsense", cwd=tmp_path).returncode == 2


def test_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        error = refused(BrokerProcess(tmp_path, {"listeners": f"PLAINTEXT://127.0.0.1:{port}"}))
    assert error.exit_code == 1
    assert str(port) in last_line(error.output)
    assert "Traceback" not in error.output


def test_log_directory_locked_by_another_broker_is_named(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path / "first") as first:
        second = BrokerProcess(tmp_path / "second", {"log.dirs": str(first.log_directory)})
        error = refused(second)
    assert error.exit_code == 1
    assert str(first.log_directory) in last_line(error.output)
    assert "Traceback" not in error.output


def test_corrupt_meta_properties_is_named(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path)
    with broker:
        pass
    (broker.log_directory / "meta.properties").write_text("version=7\nbroker.id=many\n")
    error = refused(broker)
    assert error.exit_code == 1
    assert "meta.properties" in last_line(error.output)
    assert "Traceback" not in error.output


def test_corrupt_metadata_store_is_named(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path, {"metadata.store.path": str(tmp_path / "metadata")})
    with broker:
        pass
    for left in tmp_path.glob("metadata?*"):
        left.unlink()
    (tmp_path / "metadata").write_bytes(b"no database at all" * 1000)
    error = refused(broker)
    assert error.exit_code == 1
    assert str(tmp_path / "metadata") in last_line(error.output)
    assert "Traceback" not in error.output


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        (
            "listeners=PLAINTEXT://no.such.host.invalid:0",
            "Listener PLAINTEXT cannot listen on no.such.host.invalid:0: ",
        ),
        ("listeners=PLAINTEXT://192.0.2.1:0", "192.0.2.1:0: this machine has no such address"),
        (
            "metadata.store.path=nowhere/store",
            "nowhere/store: the metadata store cannot be opened: there is no directory",
        ),
        ("metadata.store.path=.", "it is a directory"),
        ("log.dirs=/dev/null", "no log directory can be used: /dev/null (it is not a directory)"),
        ("log.dirs=/proc/1/new", "no log directory can be used: /proc/1/new ("),
    ],
)
def test_missing_permission_is_named_with_exit_code_1(tmp_path: Path, setting: str, said: str) -> None:
    listeners = "listeners=PLAINTEXT://127.0.0.1:0"
    words = ["--log-level", "error", "--override", listeners, "--override", setting]
    exit_code, output = run_forked(words, tmp_path)
    assert exit_code == 1
    assert last_line(output).startswith("pybroker: ")
    assert said in last_line(output)
    assert len(output.strip().splitlines()) <= 2
    assert "Traceback" not in output


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write into directories that are read-only")
@pytest.mark.parametrize("mode", [0o500, 0o000])
@pytest.mark.parametrize("setting", ["log.dirs={}", "metadata.store.path={}/store"])
def test_unwritable_log_directory_is_named(tmp_path: Path, setting: str, mode: int) -> None:
    directory = tmp_path / "read-only"
    directory.mkdir(mode=mode)
    listeners = "listeners=PLAINTEXT://127.0.0.1:0"
    done = pybroker("--override", listeners, "--override", setting.format(directory), cwd=tmp_path)
    assert done.returncode == 1
    assert str(directory) in last_line(done.stderr)
    assert "ermission" in last_line(done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_signal_stops_the_broker_cleanly(tmp_path: Path, how: signal.Signals) -> None:
    broker = BrokerProcess(tmp_path, command=PYBROKER).start()
    producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
    producer.send("events", b"one", partition=0).get(30)
    os.kill(broker.pid, how)
    assert broker.wait() == 0
    producer.close()
    assert (broker.log_directory / ".kafka_cleanshutdown").exists()
    assert "Traceback" not in broker.output


def test_broker_starts_without_arguments(tmp_path: Path) -> None:
    """Only the port is overridden, because other brokers run beside it."""
    broker = BrokerProcess(tmp_path, command=PYBROKER)
    broker.properties = lambda: f"listeners=PLAINTEXT://127.0.0.1:{broker.port}\n"  # type: ignore[method-assign]
    with broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        assert producer.send("events", b"one").get(30).offset == 0
        producer.close()
    assert (tmp_path / "pybroker-data" / "meta.properties").exists()
