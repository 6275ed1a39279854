"""Compares `pybroker log dump` with Apache Kafka's DumpLogSegments: same files, same lines."""

import json
import random
import re
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from interop.side_by_side.transaction_stage import SETTINGS, SITUATIONS, Stage
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Record
from pybroker.storage.log_config import LogConfig
from support.clients.tool_server import run_main
from support.golden import read_lines
from support.logs.compaction import compact_log
from support.logs.log_tool import LogTool, fill_log, write_broker_directory
from support.logs.storage_logs import CRASHED, NOW_MS, append_as_leader, close_cleanly, open_log
from support.processes.broker_process import BrokerProcess

GOLDEN = Path(__file__).parent.parent / "reference" / "golden"
CONFIG = LogConfig(segment_bytes=15_000, index_interval_bytes=500)
KEY_OF_VALUE = {"OffsetCommitValue": (0, 1), "GroupMetadataValue": (2,)}


@pytest.fixture
def log_tool(capsysbinary: pytest.CaptureFixture[bytes]) -> LogTool:
    return LogTool(capsysbinary)


def dump_of_kafka(*arguments: str) -> tuple[list[str], str]:
    """Returns the lines and error messages of Kafka's tool."""
    done = run_main("kafka.tools.DumpLogSegments", *arguments)
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("log4j:")]
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    return done.stdout.split("\n")[:-1], "\n".join(complaints)


def transactions(tmp_path: Path) -> Path:
    """Logs with every codec, transactions, several segments and a truncated end."""
    write_broker_directory(tmp_path / "data")
    return tmp_path / "data" / "topic-0"


def recovered(tmp_path: Path) -> Path:
    """Logs whose indexes and snapshots were rebuilt after a kill."""
    log = open_log(tmp_path, CONFIG)
    fill_log(log)
    log.close_files()
    for path in Path(log.directory).iterdir():
        if path.suffix != ".log":
            path.unlink()
    log = open_log(tmp_path, CONFIG, CRASHED)
    close_cleanly(log)
    return Path(log.directory)


def strange_records(tmp_path: Path) -> Path:
    """Records with nulls, empty and invalid text, line ends, headers, timestamps out of order and negative;
    LogAppendTime.
    """
    log = open_log(tmp_path, LogConfig(index_interval_bytes=500))
    texts = [None, b"", "žluť € 𝄞".encode(), b"\xff\xfe\x80abc\xe2\x82", b"\xed\xa0\x80x\xc0\xaf", b"a\nb\r\tc\x00\x1b"]
    pieces = [
        b"a",
        b"\xed",
        b"\xa0",
        b"\xbf",
        b"\xe0",
        b"\x80",
        b"\xf0",
        b"\x9f",
        b"\xf4",
        b"\x90",
        b"\xc2",
        b"\xf5",
        b"\xe2",
    ]
    randomness = random.Random(1)
    texts += [b"".join(randomness.choices(pieces, k=12)) for _ in range(40)]
    for codec in Codec:
        records = [
            Record(number, NOW_MS + (number * 7919) % 100 - (NOW_MS + 5 if number == 3 else 0), key, value, headers)
            for number, (key, value, headers) in enumerate(
                (key, value, (("h", key), ("ünï", None))[: number % 3])
                for number, (key, value) in enumerate((key, value) for key in texts for value in texts)
            )
        ]
        append_as_leader(log, bytearray(build_batch(records, codec=codec)), 0, NOW_MS)
    close_cleanly(log)
    log = open_log(tmp_path, LogConfig(message_timestamp_type="LogAppendTime"))
    append_as_leader(log, bytearray(build_batch([Record(0, 5, b"k", b"v"), Record(1, 9, b"k", b"w")])), 0, NOW_MS + 9)
    close_cleanly(log)
    return Path(log.directory)


def up_converted(tmp_path: Path) -> Path:
    """Records of old producers, stored in format 2."""
    log = open_log(tmp_path, CONFIG)
    for number in range(60):
        magic, codec = number % 2, Codec(number % 4)
        records = [Record(at, NOW_MS + number * 10 + at, b"k", b"v" * 50 * number) for at in range(1 + number % 5)]
        append_as_leader(log, bytearray(build_message_set(records, magic, codec)), 0, NOW_MS + number * 10)
    close_cleanly(log)
    return Path(log.directory)


def compacted(tmp_path: Path) -> Path:
    """Compacted logs: gaps, empty batches, delete horizons, a transaction index without some of its transactions."""
    log = open_log(tmp_path, LogConfig(segment_bytes=15_000, index_interval_bytes=500, delete_retention_ms=10_000))
    fill_log(log)
    compact_log(log)
    close_cleanly(log)
    return Path(log.directory)


def old_formats(tmp_path: Path) -> Path:
    """Messages of magic 0 and 1, plain and in wrappers, with CreateTime and LogAppendTime."""
    directory = tmp_path / "old-0"
    directory.mkdir()
    data, offset = b"", 0
    for number in range(48):
        magic, codec = number // 4 % 2, Codec(number % 4)
        appended = NOW_MS + 10_000 if magic and number > 24 else None
        records = [Record(offset + at, NOW_MS + at * 3, b"k", [b"v", None][at % 2]) for at in range(1 + number % 3)]
        data += build_message_set(records, magic, codec, log_append_time_ms=appended)
        offset += len(records)
    (directory / f"{0:020}.log").write_bytes(data)
    return directory


DIRECTORIES: list[Callable[[Path], Path]] = [
    transactions,
    recovered,
    strange_records,
    up_converted,
    compacted,
    old_formats,
]


def known_files(directory: Path) -> list[Path]:
    suffixes = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    return sorted(path for path in directory.iterdir() if path.suffix in suffixes)


@pytest.mark.parametrize("make", DIRECTORIES, ids=lambda make: make.__name__)
@pytest.mark.parametrize(
    "options", [[], ["--deep-iteration"], ["--print-data-log"]], ids=lambda options: "".join(options)
)
def test_log_dump_prints_the_same_as_kafka(
    make: Callable[[Path], Path], options: list[str], tmp_path: Path, log_tool: LogTool
) -> None:
    files = ",".join(map(str, known_files(make(tmp_path))))
    expected, complaints = dump_of_kafka(*options, "--files", files)
    ran = log_tool("dump", *options, "--files", files)
    # With any of its text decoders, Kafka's tool prints the data, whatever the other options.
    assert ran.lines == expected
    assert ran.exit_code == 0
    # Kafka's tool reports gaps left by compaction as errors; ours leaves such checks to `verify`.
    assert complaints == "" or (make is compacted and complaints.startswith("Non-consecutive offsets"))


def test_log_dump_prints_keys_and_values_like_kafka(tmp_path: Path, log_tool: LogTool) -> None:
    files = ",".join(map(str, known_files(strange_records(tmp_path))))
    options = ("--print-data-log", "--skip-record-metadata", "--files", files)
    assert log_tool("dump", *options).lines == dump_of_kafka(*options)[0]


def test_log_dump_stops_at_max_bytes_like_kafka(tmp_path: Path, log_tool: LogTool) -> None:
    path = known_files(transactions(tmp_path))[1]
    for size in ("1", "500", "5000"):
        options = ("--max-bytes", size, "--files", str(path))
        assert log_tool("dump", *options).lines == dump_of_kafka(*options)[0]


def test_log_dump_reports_a_torn_tail_like_kafka(tmp_path: Path, log_tool: LogTool) -> None:
    directory = transactions(tmp_path)
    path = max(directory.glob("*.log"))
    path.write_bytes(path.read_bytes() + path.read_bytes()[:75])
    options = ("--deep-iteration", "--files", str(path))
    assert log_tool("dump", *options).lines == dump_of_kafka(*options)[0]


@pytest.mark.parametrize(
    "make", [transactions, recovered, strange_records, up_converted, compacted], ids=lambda make: make.__name__
)
def test_kafka_dump_finds_no_fault_in_our_indexes(
    make: Callable[[Path], Path], tmp_path: Path, log_tool: LogTool
) -> None:
    directory = make(tmp_path)
    indexes = [path for path in known_files(directory) if path.suffix in (".index", ".timeindex")]
    files = ",".join(map(str, indexes))
    lines, complaints = dump_of_kafka("--verify-index-only", "--files", files)
    assert complaints == ""
    lines, complaints = dump_of_kafka("--index-sanity-check", "--files", files)
    sound = [line for line in lines if line.endswith(("passed sanity check.", "is empty."))]
    assert (len(sound), complaints) == (len(indexes), "")
    assert log_tool("verify", directory).exit_code == 0


def internal_records(name: str) -> Iterator[tuple[bytes, bytes | None]]:
    """Every key of the golden frames with no value and with each matching value."""
    keys: dict[int, bytes] = {}
    for line in read_lines(GOLDEN / name):
        data = bytes.fromhex(line["hex"])
        if line["api"].endswith("Key"):
            keys.setdefault(line["version"] if name.startswith("consumer") else 0, data)
            yield data, None
    key_versions = {**KEY_OF_VALUE, "TransactionLogValue": (0,)}
    names = ("Metadata", "PartitionMetadata", "MemberMetadata", "TargetAssignmentMetadata", "TargetAssignmentMember")
    for number, middle in enumerate((*names, "CurrentMemberAssignment"), 3):
        key_versions[f"ConsumerGroup{middle}Value"] = (number,)
    for line in read_lines(GOLDEN / name):
        for version in key_versions.get(line["api"], ()):
            yield keys[version], bytes.fromhex(line["hex"])


def as_values(line: str) -> list[object]:
    """Returns a line with parsed JSON, because Kafka escapes some characters differently."""
    decoder, parts = json.JSONDecoder(), []
    while (found := re.search(r" (?:key|payload): (?=\{)", line)) is not None:
        value, end = decoder.raw_decode(line, found.end())
        parts += [line[: found.end()], value]
        line = line[end:]
    return [*parts, re.sub(r"partitions=\[(.*?)\],txn", lambda found: str(sorted(found[1].split(","))), line)]


@pytest.mark.parametrize(
    ("name", "option"),
    [("consumer-offsets-records", "--offsets-decoder"), ("transaction-state-records", "--transaction-log-decoder")],
)
def test_log_dump_decodes_every_internal_record_like_kafka(
    name: str, option: str, tmp_path: Path, log_tool: LogTool
) -> None:
    records = [Record(n, NOW_MS, *pair) for n, pair in enumerate(internal_records(f"{name}.jsonl.gz"))]
    records = [record for record in records if is_readable_by_both_tools(record, option)]
    unknown = Record(records[-1].offset + 1, NOW_MS, struct.pack(">h", 77) + b"?", b"??")
    path = tmp_path / f"{0:020}.log"
    path.write_bytes(build_batch([*records, unknown], base_offset=records[0].offset))
    expected, _ = dump_of_kafka(option, "--files", str(path))
    ran = log_tool("dump", option, path)
    assert ran.exit_code == 0
    assert len(ran.lines) == len(expected) > 10
    for ours, kafkas in zip(ran.lines, expected, strict=True):
        assert as_values(ours) == as_values(kafkas)


def test_kafkas_tool_reads_the_transactional_ids_of_pybroker(tmp_path: Path, log_tool: LogTool) -> None:
    broker = BrokerProcess(tmp_path, SETTINGS).start()
    with Stage.alone(broker.bootstrap_servers) as stage:
        for situation in SITUATIONS.values():
            if not situation.needs_silent_broker:
                situation.build(stage)
    broker.stop()
    states: set[str] = set()
    for directory in broker.log_directory.glob("__transaction_state-*"):
        files = ",".join(map(str, known_files(directory)))
        expected, complaints = dump_of_kafka("--transaction-log-decoder", "--files", files)
        ran = log_tool("dump", "--transaction-log-decoder", "--files", files)
        assert complaints == ""
        assert [as_values(line) for line in ran.lines] == [as_values(line) for line in expected]
        states.update(re.findall(r",state=(\w+),", "\n".join(expected)))
    assert states == {"Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort"}
    assert log_tool("verify", broker.log_directory).exit_code == 0


def is_readable_by_both_tools(record: Record, option: str) -> bool:
    """Returns whether both tools can read the record. Kafka's fails on an unknown transaction state, which ours
    reports. Ours reports a made-up tag 0 in the record of a consumer group: in Kafka 4 this is a hash of 8 bytes. Types
    from 10 on are those of Kafka 4.
    """
    if option == "--offsets-decoder" and record.key is not None and record.key[:2] >= b"\0\x0a":
        return False
    if record.value is None:
        return True
    if option == "--offsets-decoder":
        return record.key is None or record.key[:2] != b"\0\3" or record.value[7:9] != b"\0\x0a"
    return 0 <= record.value[2 + 8 + 2 + 4] <= 7
