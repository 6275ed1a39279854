"""Tests of the program ``pybroker container``, run as PID 1 and as an ordinary process."""

import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from pybroker.broker.commands.container.container_command import kafka_started_line, log_level
from support.processes.container_process import ContainerProcess
from support.processes.process_namespace import in_process_namespace
from support.time.patience import await_that

PYTHON = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

WAITED_FOR = {
    "Python, with ZooKeeper": r".*\[KafkaServer id=\d+\] started.*",
    "Python, with_kraft": r".*Kafka Server started.*",
    "Java, cp-kafka with ZooKeeper": r".*\[KafkaServer id=\d+\] started.*",
    "Java and Go, KRaft": r".*Transitioning from RECOVERY to RUNNING.*",
}
"""The patterns by which testcontainers knows that a container's broker is up."""


@pytest.mark.parametrize("pattern", WAITED_FOR.values(), ids=WAITED_FOR)
def test_ready_line_matches_the_patterns_of_testcontainers(pattern: str) -> None:
    assert re.fullmatch(pattern, f"2026-01-02 03:04:05,678 INFO a: {kafka_started_line(1001)}")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [("", "info"), ("WARN", "warning"), ("warn", "warning"), ("TRACE", "debug"), ("OFF", "error"), ("ERROR", "error")],
)
def test_log_level_is_taken_from_kafka_log4j_root_loglevel(theirs: str, ours: str) -> None:
    assert log_level({"KAFKA_LOG4J_ROOT_LOGLEVEL": theirs}) == ours
    assert log_level({}) == "info"


def container(
    directory: Path, environment: dict[str, str], *arguments: str, prefix: Sequence[str] = ()
) -> ContainerProcess:
    mounted, config, data = (str(directory / name) for name in ("mounted.properties", "server.properties", "data"))
    paths = ["--mounted", mounted, "--config", config, "--data", data]
    command = [*prefix, sys.executable, "-m", "pybroker", "container", *paths, *arguments]
    return ContainerProcess(command, None, {**PYTHON, "KAFKA_LISTENERS": "PLAINTEXT://127.0.0.1:0", **environment})


def test_settings_come_from_the_file_the_environment_and_the_arguments(tmp_path: Path) -> None:
    (tmp_path / "mounted.properties").write_text("broker.id=1\nnum.partitions=2\nlog.retention.hours=3\n")
    environment = {"KAFKA_BROKER_ID": "4", "KAFKA_NUM_PARTITIONS": "5", "KAFKA_NO_SUCH___SETTING": "6"}
    with container(tmp_path, environment, "KAFKA_BROKER_ID=7") as broker:
        assert broker.says(r"\[KafkaServer id=7\] started")
        assert "no.such-setting (KAFKA_NO_SUCH___SETTING) is ignored" in broker.output
    assert broker.exit_code == 0
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()
    final = (tmp_path / "server.properties").read_text()
    assert final.startswith("broker.id=1\nnum.partitions=2\nlog.retention.hours=3\n\nbroker.id=7\n")


@pytest.mark.parametrize(
    ("environment", "arguments", "words"),
    [
        (
            {"KAFKA_NUM_PARTITIONS": "many"},
            [],
            "num.partitions=many (KAFKA_NUM_PARTITIONS)",
        ),
        ({"KAFKA_PROCESS_ROLES": "broker"}, [], "pybroker has no KRaft mode"),
        (
            {"KAFKA_SSL_KEYSTORE_CREDENTIALS": "k"},
            [],
            "KAFKA_SSL_KEYSTORE_CREDENTIALS=k: /etc/kafka/",
        ),
        ({}, ["KAFKA_NUM_PARTITIONS"], "KAFKA_NUM_PARTITIONS: must be NAME=VALUE"),
        ({"KAFKA_LOG4J_ROOT_LOGLEVEL": "loud"}, [], "KAFKA_LOG4J_ROOT_LOGLEVEL=loud: must be one of debug"),
    ],
)
@pytest.mark.parametrize("is_first", [False, True], ids=["some process", "first process"])
def test_container_reports_what_is_wrong_in_one_line(
    tmp_path: Path, environment: dict[str, str], arguments: list[str], words: str, is_first: bool
) -> None:
    prefix = in_process_namespace() if is_first else []
    broker = container(tmp_path, environment, *arguments, prefix=prefix)
    broker.begin()
    assert broker.wait() == 2
    (line,) = broker.output.splitlines()
    assert line.startswith("pybroker: ")
    assert words in line


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({"KAFKA_LOG_DIRS": "/dev/null/a"}, "or set log.dirs (KAFKA_LOG_DIRS) to directories"),
        ({"KAFKA_LOG_DIR": "/dev/null/a"}, "or set log.dir (KAFKA_LOG_DIR) to directories"),
        ({"KAFKA_METADATA_STORE_PATH": "/nowhere/x"}, "create it, or change metadata.store.path (KAFKA_METADATA_STOR"),
        ({"KAFKA_LISTENERS": "PLAINTEXT://192.0.2.1:1"}, "an address of this machine in listeners (KAFKA_LISTENERS),"),
    ],
)
def test_failing_start_names_the_variable_to_change(tmp_path: Path, environment: dict[str, str], words: str) -> None:
    broker = container(tmp_path, environment)
    broker.begin()
    assert broker.wait() == 1
    line = broker.output.splitlines()[-1]
    assert line.startswith("pybroker: ")
    assert words in line


def test_settings_that_cannot_be_written_are_reported_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "server.properties").mkdir()
    broker = container(tmp_path, {})
    broker.begin()
    assert broker.wait() == 1
    (line,) = broker.output.splitlines()
    assert line == (
        f"pybroker: {tmp_path}/server.properties: cannot be written: it is a directory, not a file; move it away, "
        "or name another file with --config"
    )


def processes_in(namespace: ContainerProcess) -> list[psutil.Process]:
    """The first process of the container, then the broker."""
    return psutil.Process(namespace.pid).children(recursive=True)


def test_first_process_of_a_container_passes_a_stop_on(tmp_path: Path) -> None:
    with container(tmp_path, {}, prefix=in_process_namespace()) as namespace:
        assert namespace.says(r"\[KafkaServer id=")
        first, broker = processes_in(namespace)
        first.send_signal(signal.SIGHUP)
        assert namespace.says("server.properties")
        assert broker.is_running()
        first.send_signal(signal.SIGTERM)
        assert namespace.wait() == 0
    assert namespace.output.rstrip().endswith("stopped")
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def test_container_ends_with_its_broker(tmp_path: Path) -> None:
    with container(tmp_path, {}, prefix=in_process_namespace()) as namespace:
        assert namespace.says(r"\[KafkaServer id=")
        _, broker = processes_in(namespace)
        broker.kill()
        assert namespace.wait() == 128 + signal.SIGKILL
    await_that(lambda: not broker.is_running(), "the broker is gone")
