"""Data directories that Apache Kafka 0.9 to 2.3 wrote: `log verify` finds no fault, and a broker serves their records.

`tests/reference/old-logdirs/make_directories.py` makes them anew.
"""

import asyncio
import base64
import gzip
import json
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.commands.command_line import main
from pybroker.config.load import load_config
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.record import read_records
from pybroker.storage.files.files import Files
from pybroker.storage.producers.producer_snapshots import decode_snapshot, encode_snapshot
from pybroker.storage.store.log_store import LogStore
from pybroker.storage.verify.fault import Fault, Findings
from pybroker.storage.verify.log_directory_check import LogDirectoryCheck
from support.clients.wire_client import WireClient
from support.logs.storage_pools import InlinePool

OLD = Path(__file__).resolve().parents[1] / "reference" / "old-logdirs"
NAMES = ("kafka-0.9.0", "kafka-0.10.0", "kafka-0.11.0", "kafka-1.1", "kafka-2.3")
WITH_TIME_INDEXES = NAMES[2:]

Served = tuple[int, int, bytes | None, bytes | None]


@pytest.fixture(params=NAMES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def data(name: str, tmp_path: Path) -> Path:
    """A copy of the directory."""
    return copy_of(name, tmp_path)


def copy_of(name: str, target: Path) -> Path:
    return Path(shutil.copytree(OLD / name / "data", target / "data"))


def faults(data: Path, *, with_records: bool = True) -> list[str]:
    reported: list[Fault] = []
    found = Findings(reported.append)
    LogDirectoryCheck(Files(), found, with_records=with_records, progress=lambda _: None).run(str(data))
    return [str(fault).removeprefix(f"{data}/") for fault in reported]


async def write_tree(name: str, store_path: Path) -> None:
    """Write the metadata that this Kafka had in ZooKeeper."""
    nodes = [json.loads(line) for line in (OLD / name / "znodes.jsonl").read_text().splitlines()]
    store = await EmbeddedStore.open(store_path, lambda: 0)
    for node in sorted(nodes, key=lambda node: str(node["path"])):
        await store.create(node["path"], (node["data"] or "").encode())
    await store.close()


def records(name: str) -> dict[str, list[Served]]:
    """The records that this Kafka served, by topic."""
    found: dict[str, list[Served]] = {}
    with gzip.open(OLD / name / "records.jsonl.gz", "rt") as lines:
        for record in map(json.loads, lines):
            key, value = (None if text is None else base64.b64decode(text) for text in (record["key"], record["value"]))
            found.setdefault(record["topic"], []).append((record["offset"], record["timestamp"], key, value))
    return found


def read(client: WireClient, topic: str) -> list[Served]:
    found: list[Served] = []
    while True:
        offset = found[-1][0] + 1 if found else 0
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            replica_id=-1, max_wait_ms=0, max_bytes=1 << 20, topics=[FetchTopic(topic=topic, partitions=[partition])]
        )
        answer = client.ask(request, 11).responses[0].partitions[0]
        assert answer.error_code == 0
        new = [
            (record.offset, record.timestamp_ms, record.key, record.value)
            for batch in iter_batches(bytes(answer.records or b""))
            if not batch.is_control
            for record in read_records(batch)
            if record.offset >= offset
        ]
        if not new:
            return found
        found += new


@pytest.mark.parametrize("with_records", [True, False], ids=["deep", "shallow"])
def test_verify_finds_no_fault_in_directories_of_old_kafkas(data: Path, with_records: bool) -> None:
    assert faults(data, with_records=with_records) == []


def test_directories_have_what_newer_kafkas_do_not_write(name: str) -> None:
    """The directories contain what this test file is about."""
    data = OLD / name / "data"
    assert bool(list(data.rglob("*.timeindex"))) == (name in WITH_TIME_INDEXES)
    assert "cluster.id" not in (data / "meta.properties").read_text()
    index = next((data / "plain-0").glob("*.index")).read_bytes()
    assert len(index) >= 16
    if name in WITH_TIME_INDEXES:
        assert any(record[1] < -1 for record in records(name)["early"])


def test_broker_on_a_directory_of_an_old_kafka_serves_its_records_and_leaves_it_sound(
    name: str, data: Path, tmp_path: Path
) -> None:
    asyncio.run(write_tree(name, tmp_path / "metadata.db"))
    settings = {
        "log.dirs": str(data),
        "metadata.store.path": str(tmp_path / "metadata.db"),
        "broker.id": "0",
        "log.retention.ms": "-1",
        "log.cleaner.enable": "false",
    }
    expected = records(name)
    with Broker(settings) as broker, WireClient(broker.bootstrap_servers) as client:
        assert {topic: read(client, topic) for topic in expected} == expected
    assert faults(data) == []
    assert "cluster.id=" in (data / "meta.properties").read_text()


@pytest.mark.parametrize("name", WITH_TIME_INDEXES)
def test_start_keeps_the_indexes_of_old_kafkas(name: str, tmp_path: Path) -> None:
    data = copy_of(name, tmp_path)
    before = {path: path.read_bytes() for path in data.rglob("*index")}
    config = load_config(f"log.dirs={data}\n", {"log.retention.ms": "-1"})
    LogStore.open(config, Files(), InlinePool(), lambda: 1).close()
    assert before
    assert {path: path.read_bytes() for path in before} == before


def test_metadata_copy_takes_a_directory_without_cluster_id(name: str, data: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with Broker({"log.dirs": str(other), "broker.id": "0"}):
        pass
    assert main(["metadata", "copy", "--from", str(other), "--to", str(data)]) == 0
    with Broker({"log.dirs": str(data)}):
        pass


# -- damage is still found


def change(path: Path, position: int, data: bytes) -> None:
    whole = bytearray(path.read_bytes())
    whole[position : position + len(data)] = data
    path.write_bytes(whole)


def lower_an_offset(data: Path) -> str:
    """An index entry in front of its batch: a reader that follows it would miss records."""
    path = sorted((data / "plain-0").glob("*.index"))[1]
    relative, position = struct.unpack(">ii", path.read_bytes()[8:16])
    assert position > 0
    change(path, 8, struct.pack(">i", relative - 1))
    return "an entry points offset"


def move_a_position(data: Path) -> str:
    path = sorted((data / "plain-0").glob("*.index"))[0]
    _, position = struct.unpack(">ii", path.read_bytes()[8:16])
    change(path, 12, struct.pack(">i", position + 1))
    return "where no batch begins"


def flip_a_byte(data: Path) -> str:
    path = sorted((data / "plain-0").glob("*.log"))[0]
    size = path.stat().st_size
    change(path, size - 3, bytes([path.read_bytes()[size - 3] ^ 1]))
    return "has the checksum"


def remove_an_offset_index(data: Path) -> str:
    sorted((data / "plain-0").glob("*.index"))[0].unlink()
    return "is missing"


@pytest.mark.parametrize("damage", [lower_an_offset, move_a_position, flip_a_byte, remove_an_offset_index])
def test_verify_finds_damage_in_directories_of_old_kafkas(data: Path, damage: Callable[[Path], str]) -> None:
    expected = damage(data)
    assert any(expected in fault for fault in faults(data))


@pytest.mark.parametrize("name", WITH_TIME_INDEXES)
def test_verify_misses_a_time_index_where_kafka_wrote_time_indexes(name: str, tmp_path: Path) -> None:
    data = copy_of(name, tmp_path)
    for path in (data / "plain-0").glob("*.timeindex"):
        path.unlink()
    assert sum("timeindex: is missing" in fault for fault in faults(data)) >= 4


@pytest.mark.parametrize("name", WITH_TIME_INDEXES)
def test_verify_finds_a_wrong_greatest_timestamp_before_1970(name: str, tmp_path: Path) -> None:
    data = copy_of(name, tmp_path)
    path = min((data / "early-0").glob("*.log"))
    batch = next(iter(iter_batches(path.read_bytes())))
    whole = bytearray(path.read_bytes())
    struct.pack_into(">q", whole, 35, -5)
    path.write_bytes(whole)
    crc = next(iter(iter_batches(bytes(whole)))).compute_crc()
    change(path, 17, struct.pack(">I", crc))
    assert batch.max_timestamp < 0
    assert any("says its greatest timestamp is -5, its records have -621355968" in fault for fault in faults(data))


def test_verify_finds_a_last_offset_in_a_snapshot_that_is_neither_a_record_nor_a_marker(tmp_path: Path) -> None:
    """Kafka 0.11 counts a marker as the producer's last record."""
    data = copy_of("kafka-0.11.0", tmp_path)
    path = max((data / "transactions-0").glob("*.snapshot"))
    (entry,) = decode_snapshot(path.read_bytes())
    (batch,) = entry.batches
    log = max((data / "transactions-0").glob("*.log")).read_bytes()
    *_, marker = iter_batches(log)
    assert (marker.is_control, marker.base_offset) == (True, batch.last_offset)
    entry.batches = [batch._replace(last_offset=batch.last_offset - 2)]
    path.write_bytes(encode_snapshot([entry]))
    assert any("last wrote offset" in fault for fault in faults(data))
