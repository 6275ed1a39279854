"""``kafka-dump-log``: prints the contents of log files (Kafka: DumpLogSegments)."""

import argparse
import os
from collections.abc import Sequence

from ....base.kafka_names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from ....cli.kafka_scripts.script_parser import ScriptParser, UsageError, check_required
from ....protocol.records.batch import RecordBatch
from ....protocol.records.record import Record
from ....storage.files.files import Files
from ....storage.segment.segment_reader import base_offset_of
from .block_output import BlockOutput
from .dump_format import Checksum, TextFormat
from .index_dump import IndexDump, IndexDumpOptions
from .internal_records import (
    DecodedRecord,
    RecordDecoder,
    decode_offsets_record,
    decode_share_state_record,
    decode_transaction_record,
)
from .log_dump import DumpOptions, LogDump

__all__ = ["kafka_dump_log"]

_ABOUT = (
    "This tool helps to parse a log file and dump its contents to the console, useful for debugging a seemingly "
    "corrupt log segment."
)
_OPEN_FILES = 16
_INTEGER_MAX = (1 << 31) - 1
_DECODER = "org.apache.kafka.tools.api.StringDecoder"
_OLD_DECODER = "kafka.serializer.StringDecoder"
_DECODERS: dict[str, tuple[str, RecordDecoder]] = {
    "offsets-decoder": (CONSUMER_OFFSETS_TOPIC, decode_offsets_record),
    "transaction-log-decoder": (TRANSACTION_STATE_TOPIC, decode_transaction_record),
    "share-group-state-decoder": (SHARE_GROUP_STATE_TOPIC, decode_share_state_record),
}
"""By the option. The first one that is given decodes, as in Kafka's tool."""
_REFUSED = ("cluster-metadata-decoder", "remote-log-metadata-decoder")
_KNOWN = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")


def kafka_dump_log(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        check_required(options, ["files"])
        _check_decoders(options)
    except UsageError as error:
        return parser.refuse(error)
    output = BlockOutput.standard()
    try:
        return _dump(options, output)
    except OSError as error:
        output.error(f"{error.filename}: {error.strerror}")
        return 1
    finally:
        output.flush()


class _RecordFormat(TextFormat):
    """Kafka's format, which also notes where the offsets of records have gaps. ``notice``: lines in front of a log."""

    def __init__(self, notice: str, *, with_metadata: bool, with_data: bool) -> None:
        super().__init__(with_metadata=with_metadata, with_data=with_data)
        self._notice = notice
        self.gaps: dict[str, list[tuple[int, int]]] = {}
        self._path = ""
        self._last: int | None = None

    def file_begin(self, path: str) -> str:
        self._path, self._last = os.path.abspath(path), None
        return super().file_begin(path)

    def log_begin(self, base_offset: int) -> str:
        return self._notice + super().log_begin(base_offset)

    def record(
        self, batch: RecordBatch, record: Record, checksum: Checksum | None, decoded: DecodedRecord | None
    ) -> str:
        if self._last is not None and record.offset != self._last + 1:
            self.gaps.setdefault(self._path, []).insert(0, (self._last, record.offset))
        self._last = record.offset
        return super().record(batch, record, checksum, decoded)


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-dump-log", _ABOUT)
    add = parser.add_argument
    add("--files", metavar="FILE,FILE", help="REQUIRED: The files, with commas between.")
    add("--print-data-log", action="store_true", help="Print the keys and values of records.")
    add("--deep-iteration", action="store_true", help="Print the metadata of each record.")
    add("--skip-record-metadata", action="store_true", help="Print no metadata of records.")
    add("--verify-index-only", action="store_true", help="Compare indexes with logs, do not print them.")
    add("--index-sanity-check", action="store_true", help="Check indexes as a broker does at its start.")
    add("--max-bytes", metavar="N", type=int, default=_INTEGER_MAX, help="Read only so many bytes of each .log.")
    add("--max-message-size", metavar="N", type=int, default=5 << 20, help="Largest batch that an index may point to.")
    for name in ("value-decoder-class", "key-decoder-class"):
        add(f"--{name}", metavar="CLASS", nargs="?", const=_DECODER, help="Only the decoder of strings is there.")
    for name, (topic, _) in _DECODERS.items():
        add(f"--{name}", action="store_true", help=f"Decode the records of {topic}.")
    for name in _REFUSED:
        add(f"--{name}", action="store_true", help="Not available: there are no such records in ZooKeeper mode.")
    return parser


def _check_decoders(options: argparse.Namespace) -> None:
    """Raises UsageError for decoders that are not available."""
    for name in _REFUSED:
        if getattr(options, name.replace("-", "_")):
            raise UsageError(f"--{name} is not available")
    for decoder in (options.value_decoder_class, options.key_decoder_class):
        if decoder not in (None, _DECODER, _OLD_DECODER):
            raise UsageError(f"the decoder {decoder} is not available without a JVM")


def _dump(options: argparse.Namespace, output: BlockOutput) -> int:
    given = [decoder for name, (_, decoder) in _DECODERS.items() if getattr(options, name.replace("-", "_"))]
    prints_data = (
        options.print_data_log
        or bool(given)
        or options.value_decoder_class is not None
        or options.key_decoder_class is not None
    )
    old = (options.value_decoder_class, options.key_decoder_class).count(_OLD_DECODER)
    notice = f"{_OLD_DECODER} is deprecated. Please use {_DECODER} instead\n" * old
    lines = _RecordFormat(notice, with_metadata=not options.skip_record_metadata, with_data=prints_data)
    files = Files(_OPEN_FILES)
    log_dump = LogDump(
        files,
        output,
        lines,
        DumpOptions(
            with_records=options.deep_iteration or prints_data,
            max_bytes=None if options.max_bytes == _INTEGER_MAX else options.max_bytes,
            decoder=given[0] if given else None,
            decodes_by_name=False,
            tail_is_fault=False,
        ),
    )
    index_dump = IndexDump(
        files,
        output,
        IndexDumpOptions(options.index_sanity_check, options.verify_index_only, options.max_message_size),
    )
    for path in options.files.split(","):
        suffix = os.path.splitext(path)[1]
        if suffix in _KNOWN and base_offset_of(path) is None:
            output.line(lines.file_begin(path))
            output.error(f'For input string: "{os.path.basename(path).partition(".")[0]}"')
            return 1
        if suffix in (".index", ".timeindex"):
            index_dump.dump(path)
        elif suffix in _KNOWN:
            log_dump.dump(path)
        else:
            output.line(lines.file_begin(path))
            output.error(f"Ignoring unknown file {path}")
    index_dump.tell_faults()
    for path, gaps in lines.gaps.items():
        output.error(f"Non-consecutive offsets in {path}")
        for first, second in gaps:
            output.error(f"  {first} is followed by {second}")
    return 1 if log_dump.has_failed or index_dump.has_failed else 0
