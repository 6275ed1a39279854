"""``pybroker produce TOPIC``: its arguments, and how they become a run."""

import argparse
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from ...base.command_parser import BAD_INPUT, CommandError, CommandParser
from ...client.producing.batch_producer import ACKS_ALL, BatchProducer
from ...client.producing.identity import ProducerIdentity
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.records.compression import Codec
from ...protocol.records.record import Headers, Record
from ..exit_codes import DONE, NOT_THERE
from ..gentle_interrupt import GentleInterrupt, Waiting
from ..topics.found_topics import named_topics
from ..verb import Call, Noun, Verb
from .batching import Batching
from .inputs import LineReader, csv_records, json_reader, line_reader, lines_of, whole_input
from .refusals import explained
from .report import Report

__all__ = ["PRODUCE"]

_SUMMARY = "writes records to a topic"
_ACKS = {"all": ACKS_ALL, "-1": ACKS_ALL, "1": 1, "0": 0}
_RETRY_S = 60.0
_BATCH_BYTES = 1_000_000


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("topic", metavar="TOPIC", help="a topic that exists")
    add("-k", "--key", metavar="KEY", help="the key of records that bring none")
    add("-H", "--header", metavar="NAME=VALUE", action="append", default=[], help="a header of every record")
    add("-p", "--partition", metavar="P", type=int, help="write to this partition only")
    add("-K", "--key-delimiter", metavar="TEXT", help="what stands between key and value of a line")
    add("-l", "--file", metavar="FILE", help="read this file instead of standard input")
    add(
        "--input",
        metavar="FORM",
        choices=("lines", "jsonl", "csv", "raw"),
        default="lines",
        help="lines, jsonl (as consume prints it), csv (VALUE or KEY,VALUE), raw (all is one value) (%(default)s)",
    )
    add("--acks", metavar="N", choices=sorted(_ACKS), default="all", help="all, 1 or 0 (%(default)s)")
    add(
        "--compression",
        metavar="CODEC",
        choices=[codec.name.lower() for codec in Codec],
        default="none",
        help="none, gzip, snappy, lz4 or zstd (%(default)s)",
    )
    add("--batch", metavar="BYTES", type=_positive, default=_BATCH_BYTES, help="size of a batch (%(default)s)")
    add("--rate", metavar="N", type=_positive, help="at most so many records a second")
    add("--tombstone", action="store_true", help="write records without a value; each line is a key, or --key is one")
    add("--transactional-id", "--txn-id", metavar="ID", help="write all records in one transaction")
    add("-v", "--verbose", action="store_true", help="print the offsets of what is written")


def _run(call: Call) -> int:
    options = call.options
    headers = _headers(options.header)
    acks = _ACKS[options.acks]
    if options.transactional_id is not None and acks != ACKS_ALL:
        raise CommandError("--transactional-id needs --acks all", BAD_INPUT)
    (topic,) = named_topics(call.cluster, [options.topic])
    count = len(topic.partitions)
    if options.partition is not None and not 0 <= options.partition < count:
        raise CommandError(f"topic {options.topic} has no partition {options.partition}; last: {count - 1}", NOT_THERE)
    with _opened(options.file) as descriptor:
        words = None if options.quiet else sys.stderr
        report = Report(sys.stdout if options.verbose else None, words, lambda: _share_read(descriptor))
        if options.dry_run:
            records = sum(len(lines) for lines in _records(options, descriptor, headers, nullcontext))
            call.output.say(f"would write {records:,} records to {options.topic}")
            return DONE
        identity = _identity(call, acks)
        producer = BatchProducer(
            call.cluster,
            report.written,
            acks=acks,
            codec=Codec[options.compression.upper()],
            identity=identity,
            retry_s=max(_RETRY_S, options.timeout),
        )
        interrupt = GentleInterrupt()
        batching = Batching(
            producer,
            options.topic,
            count,
            fixed=options.partition,
            batch_bytes=options.batch,
            rate=options.rate,
            waiting=interrupt.waiting,
        )
        is_done = False
        try:
            with interrupt:
                try:
                    _write(options, descriptor, headers, batching, interrupt.waiting)
                finally:
                    producer.flush()
            if identity is not None:
                identity.end(is_commit=True)
            is_done = True
        except (CommandError, KafkaError, ConnectionError) as error:
            raise explained(error, call.cluster, options, report.records) from error
        finally:
            report.end()
            if identity is not None and not is_done:
                with suppress(KafkaError, ConnectionError):
                    identity.end(is_commit=False)
    return DONE


def _write(
    options: argparse.Namespace, descriptor: int, headers: Headers, batching: Batching, waiting: Waiting
) -> None:
    """Send all records; also what stands in front of a line that is refused, or was read before Ctrl-C."""
    try:
        if options.input == "lines" and not (headers or options.key or options.key_delimiter or options.tombstone):
            for lines in lines_of(descriptor, waiting):
                batching.add_values(lines)
            return
        for records in _records(options, descriptor, headers, waiting):
            for record in records:
                batching.add(record)
            if not records:  # the input pauses
                batching.send_gathered()
    except (CommandError, KeyboardInterrupt):
        batching.send_gathered()
        raise
    batching.send_gathered()


def _records(
    options: argparse.Namespace, descriptor: int, headers: Headers, waiting: Waiting
) -> Iterator[list[Record]]:
    key = None if options.key is None else options.key.encode("utf-8", "surrogateescape")
    if options.tombstone and key is not None:
        yield line_reader(None, None, headers, is_tombstone=True)([key])
    elif options.input == "raw":
        yield line_reader(key, None, headers, is_tombstone=False)([whole_input(descriptor, waiting)])
    elif options.input == "csv":
        yield from csv_records(lines_of(descriptor, waiting), key, headers)
    else:
        read: LineReader
        if options.input == "jsonl":
            read = json_reader(headers)
        else:
            text = options.key_delimiter
            delimiter = None if text is None else text.encode("utf-8", "surrogateescape")
            read = line_reader(key, delimiter, headers, is_tombstone=options.tombstone)
        yield from map(read, lines_of(descriptor, waiting))


def _identity(call: Call, acks: int) -> ProducerIdentity | None:
    if acks != ACKS_ALL:
        return None
    name = call.options.transactional_id
    try:
        return ProducerIdentity(call.cluster, name)
    except KafkaError as error:
        if name is not None or error.code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        call.output.say("no right to a producer id: a record may be written twice if a broker fails")
        return None


@contextmanager
def _opened(file: str | None) -> Iterator[int]:
    if file is None or file == "-":
        yield sys.stdin.fileno()
        return
    try:
        descriptor = os.open(file, os.O_RDONLY)
    except OSError as error:
        raise CommandError(f"--file {file}: {error.strerror}", BAD_INPUT) from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _share_read(descriptor: int) -> float | None:
    """The part of a file that was read; None for a pipe or a terminal."""
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or not found.st_size:
        return None
    return os.lseek(descriptor, 0, os.SEEK_CUR) / found.st_size


def _headers(pairs: list[str]) -> Headers:
    found = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise CommandError(f"--header {pair}: must be NAME=VALUE", BAD_INPUT)
        found.append((name, value.encode("utf-8", "surrogateescape")))
    return tuple(found)


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


_VERB = Verb("", _SUMMARY, _arguments, _run, changes=True, prints_itself=True)
PRODUCE = Noun("produce", f"{_SUMMARY.capitalize()}.", (_VERB,))
