"""``pybroker log dump``: Kafka's lines, JSON, filters, damaged files."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.records import encode_key, encode_value
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record
from pybroker.storage.log_config import LogConfig
from support.examples import examples
from support.logs.log_tool import REFERENCE, TRANSACTIONS, LogTool, fill_log
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of, close_cleanly, open_log

DUMPS = sorted([*REFERENCE.glob("*/*.dump.txt"), *TRANSACTIONS.glob("*.dump.txt")])
CONFIG = LogConfig(segment_bytes=15_000, index_interval_bytes=500)
STATES_OF_KAFKA = REFERENCE.parent / "share-groups" / "states-of-kafka-4.2.0.log"
UNKNOWN_TO_KAFKA = ("leader-epoch-checkpoint", "partition.metadata")


@pytest.fixture(scope="module")
def partition(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A partition's directory: several segments, every codec, transactions."""
    log = open_log(tmp_path_factory.mktemp("data"), CONFIG)
    fill_log(log)
    close_cleanly(log)
    return Path(log.directory)


def without_files_that_kafkas_tool_does_not_know(lines: list[str]) -> list[str]:
    kept, is_known = [], True
    for line in lines:
        if line.startswith("Dumping "):
            is_known = not line.endswith(UNKNOWN_TO_KAFKA)
        if is_known:
            kept.append(line)
    return kept


def with_sorted_partitions(line: str) -> str:
    """A transaction's partitions are a set in Kafka, printed in the order of their hashes."""
    return re.sub(r"partitions=\[(.*?)\]", lambda found: f"partitions={sorted(found[1].split(','))}", line)


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: f"{path.parent.name}-{path.name.removesuffix('.dump.txt')}")
def test_dump_prints_the_same_lines_as_kafkas_tool(
    dump: Path, log_tool: LogTool, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = dump.name.removesuffix(".dump.txt")
    monkeypatch.chdir(dump.parent / "data")
    ran = log_tool("dump", "--print-data-log" if name.startswith("__") else "--deep-iteration", name)
    expected = dump.read_bytes().decode().split("\n")[:-1]
    found = without_files_that_kafkas_tool_does_not_know(ran.lines)
    assert list(map(with_sorted_partitions, found)) == list(map(with_sorted_partitions, expected))
    assert (ran.exit_code, ran.errors) == (0, [])


@pytest.mark.parametrize("name", ["kafka-3.9", "ibp-2.8"])
def test_dump_of_a_log_directory_prints_all_its_files(name: str, log_tool: LogTool) -> None:
    data = REFERENCE / name / "data"
    ran = log_tool("dump", data)
    dumped = {line.removeprefix("Dumping ") for line in ran.lines if line.startswith("Dumping ")}
    assert dumped == {str(path) for path in data.rglob("*") if path.is_file()} - {str(data / ".kafka_cleanshutdown")}
    assert ran.exit_code == 0


def test_dump_prints_only_batches_unless_records_are_requested(partition: Path, log_tool: LogTool) -> None:
    shallow, deep = log_tool("dump", partition), log_tool("dump", "--deep-iteration", partition)
    assert shallow.lines == [line for line in deep.lines if not line.startswith("| ")]
    assert len(deep.lines) > len(shallow.lines) > 400


def test_files_are_named_as_for_kafkas_tool(partition: Path, log_tool: LogTool) -> None:
    first, second = sorted(partition.glob("*.log"))[:2]
    assert log_tool("dump", "--files", f"{first},{second}").lines == log_tool("dump", first, second).lines


def test_dump_prints_the_same_records_as_text_and_json(partition: Path, log_tool: LogTool) -> None:
    text, objects = (
        log_tool("dump", "--print-data-log", partition),
        log_tool("dump", "--json", "--print-data-log", partition),
    )

    def told(pattern: str) -> list[tuple[str, ...]]:
        return [found.groups() for line in text.lines if (found := re.match(pattern, line))]

    records = [
        (str(r["offset"]), str(r["timestamp"]), r["key"], r["value"]) for r in objects.objects("record") if "key" in r
    ]
    assert told(r"\| offset: (\d+) CreateTime: (\d+) .* headerKeys: \[\] key: (.*?) payload: (.*)$") == records
    markers = [(str(r["offset"]), r["endTxnMarker"]) for r in objects.objects("record") if "endTxnMarker" in r]
    assert told(r"\| offset: (\d+) .* endTxnMarker: (\w+) coordinatorEpoch: 0$") == markers
    assert len(markers) > 5
    batches = [
        (str(b["baseOffset"]), str(b["position"]), b["compression"], str(b["crc"])) for b in objects.objects("batch")
    ]
    assert told(r"baseOffset: (\d+) .* position: (\d+) .* compresscodec: (\w+) crc: (\d+) isvalid: true$") == batches
    assert {batch[2] for batch in batches} == {"none", "gzip", "snappy", "lz4", "zstd"}
    entries = [(str(e["offset"]), str(e["position"])) for e in objects.objects("offsetIndexEntry")]
    assert told(r"offset: (\d+) position: (\d+)$") == entries
    assert objects.objects("abortedTransaction")
    assert objects.objects("producer")
    assert objects.objects("leaderEpoch")


def test_dump_prints_bytes_that_are_not_utf8_as_base64_in_json(tmp_path: Path, log_tool: LogTool) -> None:
    log = open_log(tmp_path)
    append_as_leader(log, batch_of(b"\xff\xfe", None, key=b"\x80"), 0, NOW_MS)
    close_cleanly(log)
    first, second = log_tool("dump", "--json", "--print-data-log", log.directory).objects("record")
    assert (first["keyBase64"], first["valueBase64"]) == ("gA==", "//4=")
    assert second["value"] is None
    found = log_tool("dump", "--json", "--print-data-log", "--key-base64", "gA==", log.directory)
    assert len(found.objects("record")) == 2


class TestFilters:
    @pytest.fixture
    def records(self, partition: Path, log_tool: LogTool) -> list[dict[str, Any]]:
        """Every record, as JSON lines of an unfiltered run."""
        return log_tool("dump", "--json", "--print-data-log", partition).objects("record")

    @settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def test_dump_prints_exactly_the_records_within_the_given_bounds(
        self, data: st.DataObject, records: list[dict[str, Any]], partition: Path, log_tool: LogTool
    ) -> None:
        offset = st.none() | st.integers(0, 1 + records[-1]["offset"])
        time = st.none() | st.sampled_from([record["timestamp"] for record in records]) | st.just(NOW_MS - 1)
        first_offset, last_offset = data.draw(offset, "first offset"), data.draw(offset, "last offset")
        first_ms, last_ms = data.draw(time, "first time"), data.draw(time, "last time")
        key = data.draw(st.none() | st.sampled_from(["key 3", "txn 7", "nobody's"]), "key")
        bounds = {
            "--first-offset": first_offset,
            "--last-offset": last_offset,
            "--first-time": first_ms,
            "--last-time": last_ms,
            "--key": key,
        }
        arguments = [text for name, value in bounds.items() if value is not None for text in (name, str(value))]
        expected = [
            record
            for record in records
            if (first_offset is None or record["offset"] >= first_offset)
            and (last_offset is None or record["offset"] <= last_offset)
            and (first_ms is None or record["timestamp"] >= first_ms)
            and (last_ms is None or record["timestamp"] <= last_ms)
            and (key is None or record.get("key") == key)
        ]
        ran = log_tool("dump", "--json", "--print-data-log", *arguments, partition)
        assert ran.objects("record") == expected
        # Batches alone: those that hold one of these records (by offset alone: those that cover one of these offsets).
        holders = log_tool("dump", "--json", *arguments, partition).objects("batch")
        ranges = [(batch["baseOffset"], batch["lastOffset"]) for batch in holders]
        for record in expected:
            assert any(first <= record["offset"] <= last for first, last in ranges)
        for first, last in ranges:
            assert any(first <= record["offset"] <= last for record in expected)

    def test_dump_bounds_include_the_first_and_last_offsets_of_segments(
        self, partition: Path, log_tool: LogTool
    ) -> None:
        for path in sorted(partition.glob("*.log"))[1:]:
            for offset in (int(path.stem) - 1, int(path.stem)):
                ran = log_tool("dump", "--json", "--first-offset", str(offset), "--last-offset", str(offset), partition)
                assert len(ran.objects("batch")) == 1
        greatest = max(batch["maxTimestamp"] for batch in log_tool("dump", "--json", partition).objects("batch"))
        assert log_tool("dump", "--json", "--first-time", str(greatest), partition).objects("batch")

    def test_a_batch_is_found_by_offset_in_any_format(self, tmp_path: Path, log_tool: LogTool) -> None:
        """The header of an old compressed message tells its last offset only."""
        directory = tmp_path / "old-0"
        directory.mkdir()
        records = [Record(offset, NOW_MS + offset, b"k", b"v") for offset in range(9)]
        sets = [build_message_set(records[at : at + 3], 1, Codec.GZIP) for at in (0, 3, 6)]
        (directory / f"{0:020}.log").write_bytes(b"".join(sets))
        for offset in range(9):
            bounds = ("--first-offset", str(offset), "--last-offset", str(offset))
            ran = log_tool("dump", "--json", "--deep-iteration", *bounds, directory)
            assert [record["offset"] for record in ran.objects("record")] == [offset]
            assert [batch["lastOffset"] for batch in ran.objects("batch")] == [offset // 3 * 3 + 2]

    @pytest.mark.parametrize("text", ["2023-11-14T22:13:20.100", "2023-11-14T23:13:20.100+01:00", str(NOW_MS + 100)])
    def test_first_time_accepts_a_date_or_milliseconds(self, text: str, partition: Path, log_tool: LogTool) -> None:
        ran = log_tool("dump", "--json", "--deep-iteration", "--first-time", text, partition)
        assert min(record["timestamp"] for record in ran.objects("record")) == NOW_MS + 100


class TestInternalTopics:
    DATA = REFERENCE / "kafka-3.9" / "data"

    def test_dump_filters_offsets_records_by_group(self, log_tool: LogTool) -> None:
        ran = log_tool(
            "dump", "--json", "--print-data-log", "--key", "golden1-dynamic", self.DATA / "__consumer_offsets-0"
        )
        records = ran.objects("record")
        assert {record["key"]["data"]["group"] for record in records} == {"golden1-dynamic"}
        assert {record["key"]["type"] for record in records} == {"1", "2"}
        (members, *_) = [record["value"]["data"]["members"] for record in records if record["key"]["type"] == "2"]
        assert members[0]["subscription"]["topics"] == ["golden1-append-time", "golden1-plain"]

    def test_dump_filters_transaction_records_by_transactional_id(self, log_tool: LogTool) -> None:
        ran = log_tool(
            "dump", "--json", "--print-data-log", "--key", "golden1-tx-a", self.DATA / "__transaction_state-1"
        )
        records = ran.objects("record")
        assert len(records) > 5
        assert all(record["key"]["data"]["transactionalId"] == "golden1-tx-a" for record in records)

    def test_dump_decodes_transactional_ids_in_every_state(self, log_tool: LogTool) -> None:
        paths = sorted((TRANSACTIONS / "data").glob("__transaction_state-*"))
        records = log_tool("dump", "--json", "--print-data-log", *paths).objects("record")
        newest = {record["key"]["data"]["transactionalId"]: record["value"] for record in records}
        for line in (TRANSACTIONS / "states.jsonl").read_text().splitlines():
            told = json.loads(line)
            value = newest.pop(told["transactionalId"])["data"]
            assert TransactionState(value["transactionStatus"]).title == told["state"]
            assert value["producerId"] == told["producerId"]
            assert value["producerEpoch"] == told["producerEpoch"]
            assert value["transactionTimeoutMs"] == told["timeoutMs"]
        assert newest
        assert set(newest.values()) == {None}, "the other ids have expired"

    def test_dump_prints_the_fields_that_kafka_4_adds_to_transactional_ids(
        self, tmp_path: Path, log_tool: LogTool
    ) -> None:
        producer = ProducerIdentity(7, 32_767, 32_766, previous_producer_id=7, next_producer_id=8)
        picture = TransactionPicture(TransactionState.PREPARE_COMMIT, producer, 60_000, frozenset(), 5, 6, 2)
        plain = picture._replace(producer=ProducerIdentity(7, 1), transaction_version=0)
        values = [encode_value(picture, 1), encode_value(plain, 1)]
        path = tmp_path / f"{0:020}.log"
        records = [Record(n, NOW_MS, encode_key("t"), value) for n, value in enumerate(values)]
        path.write_bytes(build_batch(records))
        bumped, kept = log_tool("dump", "--json", "--transaction-log-decoder", path).objects("record")
        assert {name: value for name, value in bumped["value"]["data"].items() if "ducerId" in name} == {
            "producerId": 7,
            "previousProducerId": 7,
            "nextProducerId": 8,
        }
        assert bumped["value"]["data"]["clientTransactionVersion"] == 2
        assert kept["value"]["data"].keys() == bumped["value"]["data"].keys() - {
            "previousProducerId",
            "nextProducerId",
            "clientTransactionVersion",
        }

    def test_dump_decoder_can_be_chosen_or_disabled(self, tmp_path: Path, log_tool: LogTool) -> None:
        shutil.copytree(self.DATA / "__consumer_offsets-0", tmp_path / "copy-0")
        by_name = log_tool("dump", "--print-data-log", self.DATA / "__consumer_offsets-0").lines
        given = log_tool("dump", "--offsets-decoder", tmp_path / "copy-0").lines
        assert [line for line in given if line[0] == "|"] == [line for line in by_name if line[0] == "|"]
        declined = log_tool("dump", "--print-data-log", "--no-decoder", self.DATA / "__consumer_offsets-0").lines
        assert not [line for line in declined if '"type"' in line]

    @pytest.mark.parametrize("options", [(), ("--share-group-state-decoder",)])
    def test_dump_decodes_the_states_of_a_share_group(
        self, options: tuple[str, ...], tmp_path: Path, log_tool: LogTool
    ) -> None:
        directory = tmp_path / "__share_group_state-0"
        directory.mkdir()
        shutil.copyfile(STATES_OF_KAFKA, directory / f"{0:020}.log")
        ran = log_tool("dump", "--json", "--print-data-log", *options, "--key", "deleted", directory)
        records = ran.objects("record")
        assert {record["key"]["data"]["groupId"] for record in records} == {"deleted"}
        assert records[0]["value"]["data"]["startOffset"] == 0
        assert records[-1]["value"] is None

    @pytest.mark.parametrize(
        "option", ["--offsets-decoder", "--transaction-log-decoder", "--share-group-state-decoder"]
    )
    def test_dump_names_and_skips_records_that_the_decoder_does_not_know(
        self, option: str, partition: Path, log_tool: LogTool
    ) -> None:
        ran = log_tool("dump", option, "--first-offset", "0", "--last-offset", "0", partition)
        (line,) = [line for line in ran.lines if line.startswith("|")]
        assert re.search(r"key: (Unknown record type \d+ at offset 0, skipping\.|unknown::version=\d+)$", line)


class TestDamage:
    @pytest.fixture
    def log_path(self, partition: Path, tmp_path: Path) -> Path:
        shutil.copytree(partition, tmp_path / partition.name)
        return sorted((tmp_path / partition.name).glob("*.log"))[-1]

    @pytest.mark.parametrize("kept", [1, 5, 16, 17, 60, 61, 85])
    def test_dump_reports_a_torn_tail_without_failing(self, kept: int, log_path: Path, log_tool: LogTool) -> None:
        data = log_path.read_bytes()
        log_path.write_bytes(data + data[:kept])
        ran = log_tool("dump", log_path)
        assert ran.lines[-1] == f"Found {kept} invalid bytes at the end of {log_path.name}"
        assert (ran.exit_code, ran.errors) == (0, [])

    def test_dump_fails_on_garbage_after_the_batches(self, log_path: Path, log_tool: LogTool) -> None:
        data = log_path.read_bytes()
        log_path.write_bytes(data + b"\xff" * 100)
        ran = log_tool("dump", log_path)
        assert ran.lines[-1] == f"Found 100 invalid bytes at the end of {log_path.name}"
        assert ran.exit_code == 1
        assert f"byte {len(data)}: no batch has a length of" in ran.errors[0]

    def test_dump_shows_a_broken_batch_and_the_batches_after_it(self, log_path: Path, log_tool: LogTool) -> None:
        data = bytearray(log_path.read_bytes())
        data[70] ^= 0xFF
        log_path.write_bytes(data)
        before = log_tool("dump", log_path).lines
        assert [line.endswith("isvalid: false") for line in before[2:4]] == [True, False]
        deep = log_tool("dump", "--deep-iteration", log_path)
        assert [line for line in deep.lines if not line.startswith("|")] == before

    def test_dump_names_an_unreadable_snapshot(self, log_path: Path, log_tool: LogTool) -> None:
        snapshot = log_path.with_suffix(".snapshot")
        snapshot.write_bytes(b"garbage")
        ran = log_tool("dump", snapshot, log_path)
        assert ran.exit_code == 1
        assert str(snapshot) in ran.errors[0]
        assert ran.lines[1] == f"Dumping {log_path}"

    def test_dump_skips_zeros_that_kafka_preallocates_in_indexes(self, log_path: Path, log_tool: LogTool) -> None:
        for suffix in (".index", ".timeindex"):
            path = log_path.with_suffix(suffix)
            before = log_tool("dump", path).lines
            path.write_bytes(path.read_bytes() + bytes(path.stat().st_size * 10 or 24))
            assert log_tool("dump", path).lines == before


def test_a_reader_that_leaves_early_ends_the_command_silently(partition: Path) -> None:
    command = [sys.executable, "-m", "pybroker", "log", "dump", "--print-data-log", str(partition)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline().startswith(b"Dumping ")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait() == 0


def bad_arguments() -> Iterator[tuple[tuple[str, ...], str]]:
    yield (), "a tool is missing"
    yield ("dmup",), "dmup"
    yield ("dump",), "PATH is missing"
    yield ("dump", "--first-offset", "x", "a"), "--first-offset"
    yield ("dump", "--first-time", "yesterday", "a"), "--first-time"
    yield ("dump", "--key-base64", "?", "a"), "--key-base64"
    yield ("dump", "--key", "a", "--key-base64", "aaaa", "a"), "not allowed with"
    yield ("dump", "/nowhere/at/all"), "/nowhere/at/all"


@pytest.mark.parametrize(("arguments", "told"), [*bad_arguments()])
def test_dump_reports_bad_arguments_in_one_line(arguments: tuple[str, ...], told: str, log_tool: LogTool) -> None:
    ran = log_tool(*arguments)
    assert ran.exit_code == 2
    (error,) = ran.errors
    assert error.startswith("pybroker: ")
    assert told in error


def test_dump_fails_on_files_that_belong_to_no_log(tmp_path: Path, log_tool: LogTool) -> None:
    (tmp_path / "notes.txt").write_text("x")
    assert log_tool("dump", tmp_path / "notes.txt").exit_code == 1
    (error,) = log_tool("dump", tmp_path).errors
    assert error == f"pybroker: {tmp_path} is neither a log directory nor one of a partition"


def test_dump_changes_nothing_in_a_directory(tmp_path: Path, log_tool: LogTool) -> None:
    data = tmp_path / "data"
    shutil.copytree(REFERENCE / "kafka-3.9" / "data", data)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in data.rglob("*") if path.is_file()}
    log_tool("dump", "--print-data-log", data)
    assert {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in data.rglob("*") if path.is_file()} == before
