"""Tests of a log directory on a small file system that fills up: appends are refused, everything else continues.

Needs the permission to mount a tmpfs.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import NewTopic
from kafka.errors import KafkaStorageError
from support.processes.broker_process import BrokerProcess
from support.processes.small_disk import fill_up, small_disk

SIZE = 4 << 20
RECORD = 50_000


@pytest.fixture(name="small_disk")
def small_disk_fixture(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "small", SIZE) as path:
        yield path


def read_all(servers: str, topic: str, end: int) -> list[bytes]:
    consumer = KafkaConsumer(bootstrap_servers=servers, auto_offset_reset="earliest")
    consumer.assign([TopicPartition(topic, 0)])
    values: list[bytes] = []
    while len(values) < end:
        for records in consumer.poll(1000).values():
            values.extend(record.value for record in records)
    consumer.close()
    return values


def produce_until_refused(producer: KafkaProducer, topic: str) -> int:
    """Produces until refused; returns the number of accepted records."""
    taken = 0
    with suppress(KafkaStorageError):  # any other error fails the test
        while True:
            producer.send(topic, taken.to_bytes(4, "big") + b"x" * RECORD, partition=0).get()
            taken += 1
    return taken


@pytest.mark.parametrize("stop", ["kill", pytest.param("stop", marks=pytest.mark.long)])
def test_full_disk_refuses_appends_serves_reads_and_recovers_with_space(
    small_disk: Path, tmp_path: Path, stop: str
) -> None:
    settings = {
        "log.dirs": str(small_disk),
        "metadata.store.path": str(tmp_path / "metadata.db"),
        "log.segment.bytes": "1000000",
        "log.index.size.max.bytes": "10000",
        "log.flush.offset.checkpoint.interval.ms": "100",
        "log.initial.task.delay.ms": "0",
    }
    filler = small_disk / "filler"
    broker = BrokerProcess(tmp_path / "broker", settings).start()
    servers = broker.bootstrap_servers
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic("filled", 1, 1)])
    producer = KafkaProducer(bootstrap_servers=servers, acks="all", retries=0, enable_idempotence=False)
    filler.write_bytes(bytes(SIZE // 2))

    taken = produce_until_refused(producer, "filled")
    assert 10 < taken < SIZE // RECORD
    expected = [number.to_bytes(4, "big") + b"x" * RECORD for number in range(taken)]
    assert read_all(servers, "filled", taken) == expected
    assert produce_until_refused(producer, "filled") == 0
    filler.unlink()
    for number in range(taken, taken + 10):  # there is space again, without a restart
        value = number.to_bytes(4, "big") + b"x" * RECORD
        assert producer.send("filled", value, partition=0).get().offset == number
        expected.append(value)
    assert read_all(servers, "filled", taken + 10) == expected
    for client in (producer, admin):
        client.close()
    broker.kill() if stop == "kill" else broker.stop()
    assert not [line for line in broker.lines if "is offline" in line or "Traceback" in line]
    checkpoint = (small_disk / "recovery-point-offset-checkpoint").read_text().splitlines()
    assert any(line.startswith("filled 0 ") for line in checkpoint), checkpoint
    with BrokerProcess(tmp_path / "broker", settings) as broker:
        assert read_all(broker.bootstrap_servers, "filled", taken + 10) == expected


def test_full_disk_affects_only_its_own_partitions(small_disk: Path, tmp_path: Path) -> None:
    roomy = tmp_path / "roomy"
    settings = {
        "log.dirs": f"{small_disk},{roomy}",
        "metadata.store.path": str(tmp_path / "metadata.db"),
        "log.index.size.max.bytes": "10000",
    }
    with BrokerProcess(tmp_path / "broker", settings) as broker:
        servers = broker.bootstrap_servers
        admin = KafkaAdminClient(bootstrap_servers=servers)
        for topic in ("first", "second"):
            admin.create_topics([NewTopic(topic, 1, 1)])
        full, other = ("first", "second") if (small_disk / "first-0").is_dir() else ("second", "first")
        assert (small_disk / f"{full}-0").is_dir()
        assert (roomy / f"{other}-0").is_dir()
        producer = KafkaProducer(bootstrap_servers=servers, acks="all", retries=0, enable_idempotence=False)
        taken = produce_until_refused(producer, full)
        for _ in range(2 * SIZE // RECORD):
            producer.send(other, b"x" * RECORD, partition=0).get()
        assert len(read_all(servers, full, taken)) == taken
        for client in (producer, admin):
            client.close()
    assert os.path.getsize(small_disk / f"{full}-0" / "00000000000000000000.log") < SIZE


def names_taken(path: Path) -> None:
    """Uses up the space for file names, as on file systems where names need space."""
    number = 0
    with suppress(OSError):
        while True:
            (path.parent / f"{path.name}-{number}").touch()
            number += 1


@pytest.mark.parametrize("stop", ["kill", "stop"])
@pytest.mark.parametrize("has_names", [pytest.param(True, marks=pytest.mark.long), False], ids=["no block", "no inode"])
def test_broker_on_a_full_disk_starts_and_accepts_writes_with_space(
    small_disk: Path, tmp_path: Path, has_names: bool, stop: str
) -> None:
    """The metadata store is on the full disk too."""
    data = small_disk / "data"
    settings = {
        "log.dirs": str(data),
        "log.index.size.max.bytes": "10000",
        "offsets.topic.num.partitions": "1",
    }
    filler = small_disk / "filler"
    broker = BrokerProcess(tmp_path / "broker", settings).start()
    servers = broker.bootstrap_servers
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic("kept", 1, 1)])
    producer = KafkaProducer(bootstrap_servers=servers, acks="all", retries=0, enable_idempotence=False)
    expected = [b"%d" % number for number in range(5)]
    for value in expected:
        producer.send("kept", value, partition=0).get()
    for client in (producer, admin):
        client.close()
    broker.kill() if stop == "kill" else broker.stop()
    fill_up(filler)
    if not has_names:
        names_taken(filler)

    with BrokerProcess(tmp_path / "broker", settings) as broker:
        servers = broker.bootstrap_servers
        assert read_all(servers, "kept", 5) == expected
        if stop == "stop":  # a kill leaves a file of the store with free space in it
            assert [line for line in broker.lines if "changes of the start are kept in memory" in line]
        fill_up(filler)  # including space freed by the start
        producer = KafkaProducer(bootstrap_servers=servers, acks="all", retries=0, enable_idempotence=False)
        admin = KafkaAdminClient(bootstrap_servers=servers)
        with pytest.raises(KafkaStorageError):
            producer.send("kept", bytes(RECORD), partition=0).get()
        with pytest.raises(KafkaStorageError):
            admin.create_topics([NewTopic("refused", 1, 1)])
        assert read_all(servers, "kept", 5) == expected
        for path in small_disk.glob("filler*"):
            path.unlink()
        while len(expected) == 5:
            with suppress(KafkaStorageError):
                assert producer.send("kept", b"taken", partition=0).get().offset == 5
                expected.append(b"taken")
        admin.create_topics([NewTopic("refused", 1, 1)])
        for client in (producer, admin):
            client.close()
        assert not [line for line in broker.lines if "is offline" in line or "Traceback" in line]
        broker.kill()
    with BrokerProcess(tmp_path / "broker", settings) as broker:
        assert read_all(broker.bootstrap_servers, "kept", 6) == expected
