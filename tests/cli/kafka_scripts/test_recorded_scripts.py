"""Scripts with Kafka's names print what the scripts of Apache Kafka 3.9.1 printed, and exit with the same code.

The recorded lines ran one after another on one broker. With ``--long`` Kafka's scripts run again on a pybroker, and
ours run on Kafka.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker import Broker
from support.clients.commands import run as command
from support.clients.recorded_scripts import RECORDINGS, Recording, run_here, run_kafkas
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

OTHER_ON_KAFKA = {"kafka-broker-api-versions", "kafka-dump-log"}
"""Recordings of facts in which the brokers differ: the APIs, and the size of indexes that are in use."""
FILES = [pytest.param(file, id=file.stem) for file in RECORDINGS]
FILES_FOR_KAFKA = [pytest.param(file, id=file.stem) for file in RECORDINGS if file.stem not in OTHER_ON_KAFKA]


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    zookeeper = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper")).start()
    yield zookeeper
    zookeeper.kill()


@pytest.mark.parametrize("file", FILES)
def test_script_prints_what_kafkas_script_printed(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = run_here(capsys, monkeypatch, tmp_path / "stdin")
    recording = Recording(file, tmp_path)
    listener = {"listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(tmp_path / "data")}
    with Broker({**listener, **recording.settings}) as broker, recording:
        assert recording.differences(broker.bootstrap_servers, run) == []


@pytest.mark.long
@pytest.mark.parametrize("file", FILES)
def test_recorded_lines_are_what_kafkas_script_prints(file: Path, tmp_path: Path) -> None:
    recording = Recording(file, tmp_path)
    with BrokerProcess(tmp_path, recording.settings) as broker, recording:
        assert recording.differences(broker.bootstrap_servers, run_kafkas) == []


@pytest.mark.long
@pytest.mark.parametrize("file", FILES_FOR_KAFKA)
def test_script_prints_the_same_on_kafka(
    file: Path,
    zookeeper: ZooKeeperProcess,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = run_here(capsys, monkeypatch, tmp_path / "stdin")
    recording = Recording(file, tmp_path)
    settings = {**recording.settings, "zookeeper.connect": f"{zookeeper.connect}/{file.stem}"}
    kafka = KafkaProcess(tmp_path, zookeeper, settings).start()
    assert (
        command(kafka.bootstrap_servers, "cluster", "wait", "--brokers", "1").code == 0
    )  # its own metadata comes late
    try:
        with recording:
            assert recording.differences(kafka.bootstrap_servers, run) == []
    finally:
        kafka.kill()
