"""``pybroker log dump``: reads the arguments and runs a `LogDump`."""

from __future__ import annotations

import argparse
import base64
from collections.abc import Sequence
from datetime import UTC, datetime

from ....base.command_parser import BAD_INPUT, FAILED, CommandError, CommandParser
from ....storage.files.files import Files
from ....storage.segment.partition_files import NoLogError
from .block_output import BlockOutput
from .dump_format import DumpFormat, TextFormat
from .internal_records import RecordDecoder, decode_offsets_record, decode_share_state_record, decode_transaction_record
from .json_lines import JsonLines
from .log_dump import DumpOptions, LogDump
from .record_filter import RecordFilter

__all__ = ["dump_command"]

_OPEN_FILES = 16
_MAX_OFFSET = (1 << 63) - 1

_DESCRIPTION = """\
Prints the contents of log files: batches and their records (.log), indexes (.index, .timeindex, .txnindex), producers
(.snapshot), leader epochs, checkpoints. The format is that of Apache Kafka's kafka-dump-log. PATH is a file, a
partition's directory or a log directory. Nothing is changed, and a broker may be running on it."""

_EPILOG = """\
examples:
  pybroker log dump data/orders-0                                  batches and index entries of a partition
  pybroker log dump --print-data-log data/orders-0/*.log           every record with its key and value
  pybroker log dump --print-data-log --key k1 data/orders-0        every value of the key k1
  pybroker log dump --json --deep-iteration --first-time 2026-11-21T08:00 data/orders-0
  pybroker log dump --print-data-log --key my-group data/__consumer_offsets-17

With --first-offset, --last-offset, --first-time, --last-time or --key, only the .log files of a directory are printed.
exit codes: 0 everything was read, 1 something could not be read, 2 bad arguments"""


def dump_command(arguments: Sequence[str]) -> int:
    """The command; returns its exit code. Raises CommandError, OSError, BrokenPipeError."""
    parser = _parser()
    options = parser.parse_args(arguments)
    paths = [*options.paths, *(path for listed in options.files for path in listed.split(",") if path)]
    if not paths:
        parser.error("PATH is missing")
    output = BlockOutput.standard()
    dump = LogDump(Files(_OPEN_FILES), output, _format(options), _dump_options(options))
    try:
        for path in paths:
            dump.dump(path)
    except NoLogError as error:
        raise CommandError(str(error), BAD_INPUT) from None
    finally:
        output.flush()
    return FAILED if dump.has_failed else 0


def _parser() -> CommandParser:
    parser = CommandParser("pybroker log dump", _DESCRIPTION, epilog=_EPILOG)
    parser.add_argument("paths", metavar="PATH", nargs="*", help="a file, a partition's directory or a log directory")
    parser.add_argument(
        "--files", metavar="PATH,PATH", action="append", default=[], help="paths, in the form that kafka-dump-log takes"
    )
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line, not Kafka's text")
    shown = parser.add_argument_group("contents of .log files to print (default: batches only)")
    shown.add_argument("--deep-iteration", action="store_true", help="each record's offset, time and sizes")
    shown.add_argument("--print-data-log", action="store_true", help="each record with its key and value")
    shown.add_argument("--skip-record-metadata", action="store_true", help="only key and value of each record")
    shown.add_argument("--max-bytes", metavar="N", type=_count, help="read only the first N bytes of each .log")
    bounds = parser.add_argument_group("batches and records to print (bounds included)")
    bounds.add_argument("--first-offset", metavar="N", type=_offset, default=0)
    bounds.add_argument("--last-offset", metavar="N", type=_offset, default=_MAX_OFFSET)
    bounds.add_argument(
        "--first-time", metavar="TIME", type=_time_ms, help="like 2026-11-21T08:00 (UTC), or milliseconds"
    )
    bounds.add_argument("--last-time", metavar="TIME", type=_time_ms)
    key = bounds.add_mutually_exclusive_group()
    key.add_argument(
        "--key", metavar="TEXT", type=str.encode, help="a key; in internal topics a group or transactional id"
    )
    key.add_argument("--key-base64", metavar="BASE64", type=_base64, help="a key that is not text")
    decoder = parser.add_mutually_exclusive_group()
    decoder.add_argument("--offsets-decoder", action="store_true", help="decode records of __consumer_offsets")
    decoder.add_argument("--transaction-log-decoder", action="store_true", help="decode records of __transaction_state")
    decoder.add_argument(
        "--share-group-state-decoder", action="store_true", help="decode records of __share_group_state"
    )
    decoder.add_argument("--no-decoder", action="store_true", help="do not decode records of internal topics")
    return parser


def _format(options: argparse.Namespace) -> DumpFormat:
    with_data = _with_data(options)
    if options.json:
        return JsonLines(with_data=with_data)
    return TextFormat(with_metadata=not options.skip_record_metadata, with_data=with_data)


def _with_data(options: argparse.Namespace) -> bool:
    """A decoder option implies printing the data, as with Kafka's tool."""
    return options.print_data_log or _decoder(options) is not None


def _decoder(options: argparse.Namespace) -> RecordDecoder | None:
    chosen = {
        decode_offsets_record: options.offsets_decoder,
        decode_transaction_record: options.transaction_log_decoder,
        decode_share_state_record: options.share_group_state_decoder,
    }
    return next((decoder for decoder, is_chosen in chosen.items() if is_chosen), None)


def _dump_options(options: argparse.Namespace) -> DumpOptions:
    return DumpOptions(
        with_records=options.deep_iteration or _with_data(options),
        records=RecordFilter(
            options.first_offset,
            options.last_offset,
            options.first_time,
            options.last_time,
            options.key if options.key is not None else options.key_base64,
        ),
        max_bytes=options.max_bytes,
        decoder=_decoder(options),
        decodes_by_name=not options.no_decoder,
    )


def _offset(text: str) -> int:
    return _number(text, 0, _MAX_OFFSET)


def _count(text: str) -> int:
    return _number(text, 1, _MAX_OFFSET)


def _number(text: str, least: int, most: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if not least <= number <= most:
        raise argparse.ArgumentTypeError(f"{text} must be a whole number of at least {least}")
    return number


def _time_ms(text: str) -> int:
    if text.isascii() and text.isdigit():
        return _number(text, 0, _MAX_OFFSET)
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} must be a time like 2026-11-21T08:00, or milliseconds") from None
    if time.tzinfo is None:
        time = time.replace(tzinfo=UTC)
    return round(time.timestamp() * 1000)


def _base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text} must be base64") from None
