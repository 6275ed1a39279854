"""Tests ``kill -9`` of a broker while a partition changes its log directory: the move continues, nothing is lost."""

from pathlib import Path

from confluent_kafka import KafkaError, Message, Producer
from pybroker.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from pybroker.protocol.messages.incremental_alter_configs import AlterableConfig as Alteration
from pybroker.protocol.messages.incremental_alter_configs import AlterConfigsResource, IncrementalAlterConfigsRequest
from support.clients.kept_records import read_all
from support.clients.topics import create_topic
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess
from support.time.patience import await_that

TOPIC = "events"
BROKER = 4
SETTINGS = {
    "broker.id": "1",
    "log.segment.bytes": "20000",
    "log.segment.delete.delay.ms": "0",
    "log.flush.offset.checkpoint.interval.ms": "100",
    "log.initial.task.delay.ms": "100",
}


def limit_moves(broker: BrokerProcess, bytes_per_second: int) -> None:
    rate = Alteration(
        name="replica.alter.log.dirs.io.max.bytes.per.second", config_operation=0, value=str(bytes_per_second)
    )
    resource = AlterConfigsResource(resource_type=BROKER, resource_name="1", configs=[rate])
    with WireClient(broker.bootstrap_servers) as client:
        (answer,) = client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 0).responses
    assert answer.error_code == 0


def move(broker: BrokerProcess, to: Path) -> None:
    wanted = AlterReplicaLogDir(path=str(to), topics=[AlterReplicaLogDirTopic(name=TOPIC, partitions=[0])])
    with WireClient(broker.bootstrap_servers) as client:
        (answer,) = client.ask(AlterReplicaLogDirsRequest(dirs=[wanted]), 1).results
    assert [found.error_code for found in answer.partitions] == [0]


def produce(broker: BrokerProcess, numbers: range) -> None:
    """Produce records; returns when all are acknowledged."""
    failures: list[KafkaError | None] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        failures.append(error)

    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "enable.idempotence": True, "linger.ms": 1})
    for number in numbers:
        producer.produce(TOPIC, f"{number:0100}", partition=0, on_delivery=delivered)
        if number % 20 == 0:
            producer.flush()  # batches much smaller than a segment
    producer.flush()
    assert failures == [None] * len(numbers)


def test_move_continues_after_kill_9(tmp_path: Path) -> None:
    disks = [tmp_path / "a", tmp_path / "b"]
    with BrokerProcess(tmp_path, {**SETTINGS, "log.dirs": ",".join(map(str, disks))}) as broker:
        create_topic(broker.bootstrap_servers, TOPIC, 1)
        (source,) = (disk for disk in disks if (disk / f"{TOPIC}-0").exists())
        (destination,) = (disk for disk in disks if disk != source)
        produce(broker, range(3000))
        limit_moves(broker, 8_000)
        move(broker, destination)
        await_that(lambda: len(list(destination.glob("*-future/*.log"))) > 2, "two whole segments of the copy")
        limit_moves(broker, 0)
        produce(broker, range(3000, 3100))
        (copy,) = destination.glob("*-future")
        broker.kill()
        assert list(destination.glob("*-future")) == [copy], "it was done before the kill"
        copied = (copy / f"{0:020}.log").stat()
        broker.start()
        assert f"resuming its move from {source} to {destination}" in broker.output
        produce(broker, range(3100, 3200))
        assert (copy / f"{0:020}.log").stat().st_ino == copied.st_ino, "it was copied anew"
        limit_moves(broker, 1 << 30)
        await_that(lambda: (destination / f"{TOPIC}-0").exists(), "the end of the move")
        await_that(lambda: not list(source.glob(f"{TOPIC}-0*")), "the deletion of the log that was moved")
        produce(broker, range(3200, 3300))
        found = read_all(broker.bootstrap_servers, TOPIC, 0)
        assert [int(value) for _, value in found] == list(range(3300))
        assert [offset for offset, _ in found] == list(range(3300))
        assert broker.stop() == 0
        assert not list(destination.glob("*-future"))
    assert "Traceback" not in broker.output
