"""Apache Kafka's DumpLogSegments reads what pybroker writes, in every format, with every codec and level."""

from pathlib import Path

from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.protocol.records.message_set import build_message_set
from pybroker.protocol.records.record import Headers, Record, build_batch
from support.clients.tool_server import run_main

LEVELS: dict[Codec, tuple[int | None, ...]] = {
    Codec.GZIP: (None, 1, 9),
    Codec.LZ4: (None, 1, 12, 17),
    Codec.ZSTD: (None, -5, 1, 22),
}
RECORDS_EACH = 40


def records_from(offset: int, headers: Headers) -> list[Record]:
    return [
        Record(offset + number, 1_700_000_000_000 + number, b"key %d" % number, b"value %d " % number * 150, headers)
        for number in range(RECORDS_EACH)
    ]


def segment() -> tuple[bytes, int]:
    """Return a segment of every kind of batch, and its number of records."""
    pieces: list[bytes] = []
    offset = 0
    for magic in (0, 1):
        for codec in (Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.LZ4):
            for level in LEVELS.get(codec, (None,)):
                pieces.append(build_message_set(records_from(offset, ()), magic, codec, level))
                offset += RECORDS_EACH
    for codec in Codec:
        for level in LEVELS.get(codec, (None,)):
            records = records_from(offset, (("name", b"value"), ("null", None)))
            pieces.append(build_batch(records, codec=codec, level=level))
            offset += RECORDS_EACH
    marker = EndTransactionMarker(is_commit=True, coordinator_epoch=3)
    pieces.append(build_marker_batch(marker, producer_id=5, producer_epoch=1, timestamp_ms=1, base_offset=offset))
    return b"".join(pieces), offset + 1


def test_kafka_reads_our_batches_of_every_format_codec_and_level(tmp_path: Path) -> None:
    data, record_count = segment()
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(data)
    result = run_main("kafka.tools.DumpLogSegments", "--deep-iteration", "--print-data-log", "--files", str(log))
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    entries = [line for line in lines if "isvalid:" in line]
    assert entries
    assert all("isvalid: true" in line for line in entries)
    records = [line for line in lines if line.startswith("| offset:")]
    assert len(records) == record_count
    for number, line in enumerate(records[:-1]):
        assert line.startswith(f"| offset: {number} ")
        assert line.endswith(" payload: " + f"value {number % RECORDS_EACH} " * 150)
    assert "endTxnMarker: COMMIT coordinatorEpoch: 3" in records[-1]
