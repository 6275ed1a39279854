"""``kafka-console-producer``: writes the lines of standard input to a topic (Kafka: ConsoleProducer)."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...base.command_parser import CommandError
from ...client.admin_cluster import AdminCluster
from ...client.connection import TlsError
from ...client.producing.batch_producer import ACKS_ALL, BatchProducer
from ...client.producing.identity import ProducerIdentity
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.records.compression import Codec
from ..produce.batching import Batching
from ..produce.inputs import lines_of
from .client_properties import client_of, given_properties, pairs_of
from .console_topic import partitions_on_demand
from .line_records import LineError, LineRecords
from .script_parser import ScriptParser, UsageError, check_required

__all__ = ["console_producer"]

_READER = ("kafka.tools.ConsoleProducer$LineMessageReader", "org.apache.kafka.tools.LineMessageReader")
_ACKS = {"all": ACKS_ALL, "-1": ACKS_ALL, "0": 0, "1": 1}
_REFUSED = ("transactional.id", "partitioner.class", "interceptor.classes", "key.serializer", "value.serializer")


def console_producer(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments, may_be_empty=True)
        if options is None:
            return 0
        servers = _servers(options)
        given = given_properties(options.producer_config, _properties(options), _REFUSED)
    except UsageError as error:
        return parser.refuse(error)
    except CommandError as error:
        return _fail(error)
    try:
        lines = LineRecords(pairs_of(options.property) if options.reader_config is None else _reader_config(options))
        with client_of(servers, given, "console-producer") as cluster:
            _write(cluster, options, given, lines)
    except (LineError, UsageError, CommandError) as error:
        return _fail(error)
    except (KafkaError, ConnectionError, TimeoutError, TlsError) as error:
        _fail(error)  # Kafka's script only tells of records that were not written, and exits with 0
    return 0


def _fail(error: Exception) -> int:
    sys.stderr.write(f"{error}\n")
    return 1


def _parser() -> ScriptParser:
    parser = ScriptParser(
        "kafka-console-producer", "This tool helps to read data from standard input and publish it to Kafka."
    )
    add = parser.add_argument
    add("--bootstrap-server", "--broker-list", metavar="SERVERS", help="REQUIRED: The servers to connect to.")
    add("--topic", metavar="TOPIC", help="REQUIRED: The topic to produce messages to.")
    add("--sync", action="store_true", help="Send each message and wait until it is written.")
    add("--compression-codec", metavar="CODEC", nargs="?", const="gzip", help="none, gzip, snappy, lz4 or zstd.")
    add("--batch-size", metavar="BYTES", type=int, default=16384, help="Bytes of a batch (16384).")
    add("--timeout", metavar="MS", type=int, help="A message waits for no longer than this for others (1000).")
    add("--request-required-acks", metavar="ACKS", help="all, -1, 0 or 1 (-1).")
    add("--request-timeout-ms", metavar="MS", type=int, help="How long a response may take (1500).")
    add("--retry-backoff-ms", metavar="MS", type=int, help="The pause before a request is sent again (100).")
    add("--max-block-ms", metavar="MS", type=int, help="How long to wait for the topic (60000).")
    add("--line-reader", metavar="CLASS", default=_READER[0], help="Only Kafka's own reader of lines is there.")
    add("--property", metavar="NAME=VALUE", action="append", default=[], help="A property of the reader of lines.")
    add("--reader-config", metavar="FILE", type=Path, help="A file with properties of the reader of lines.")
    add("--producer-property", metavar="NAME=VALUE", action="append", default=[], help="A property of the producer.")
    add("--producer.config", dest="producer_config", metavar="FILE", type=Path, help="Properties of the producer.")
    return parser


def _servers(options: argparse.Namespace) -> str:
    """The brokers to begin with. Raises UsageError for options that are missing or not available."""
    if options.bootstrap_server is None:
        raise UsageError("Missing required option(s) [bootstrap-server]")
    check_required(options, ["topic"])
    if options.line_reader not in _READER:
        raise UsageError(f"--line-reader {options.line_reader} is not available without a JVM")
    if options.batch_size < 1:
        raise UsageError("--batch-size must be 1 or more")
    return str(options.bootstrap_server)


def _properties(options: argparse.Namespace) -> dict[str, str]:
    """Properties of the producer; an option goes before the property of the same meaning."""
    given = pairs_of(options.producer_property)
    for name, value in (
        ("acks", options.request_required_acks),
        ("compression.type", options.compression_codec),
        ("max.block.ms", options.max_block_ms),
        ("request.timeout.ms", options.request_timeout_ms),
        ("retry.backoff.ms", options.retry_backoff_ms),
    ):
        if value is not None:
            given[name] = str(value)
    return given


def _reader_config(options: argparse.Namespace) -> dict[str, str]:
    return given_properties(options.reader_config, {}, ()) | pairs_of(options.property)


def _write(cluster: AdminCluster, options: argparse.Namespace, given: Mapping[str, str], lines: LineRecords) -> None:
    acks = _acks(given)
    partitions = _partitions(cluster, options.topic, given)
    producer = BatchProducer(
        cluster, lambda *_: None, acks=acks, codec=_codec(given), identity=_identity(cluster, acks)
    )
    batching = Batching(producer, options.topic, partitions, fixed=None, batch_bytes=int(options.batch_size), rate=None)
    prompt = ">" if sys.stdin.isatty() and sys.stdout.isatty() else ""
    _prompt(prompt)
    try:
        for pieces in lines_of(sys.stdin.fileno()):
            for piece in pieces:
                batching.add(lines.record(piece.removesuffix(b"\r")))
                if options.sync:
                    batching.send_gathered()
                    producer.flush()
                _prompt(prompt)
            if not pieces:  # the input pauses
                batching.send_gathered()
                producer.flush()
    finally:
        batching.send_gathered()  # what stands in front of a line that is refused
        producer.flush()


def _prompt(text: str) -> None:
    if text:
        sys.stdout.write(text)
        sys.stdout.flush()


def _partitions(cluster: AdminCluster, topic: str, given: Mapping[str, str]) -> int:
    """The number of the topic's partitions. Raises TimeoutError after max.block.ms."""
    wait_ms = _number(given, "max.block.ms", 60_000)
    found = partitions_on_demand(cluster, topic, wait_ms)
    if not found:
        raise TimeoutError(f"Topic {topic} not present in metadata after {wait_ms} ms.")
    return len(found)


def _acks(given: Mapping[str, str]) -> int:
    text = given.get("acks", "all")
    if text not in _ACKS:
        raise CommandError(f"acks must be all, -1, 0 or 1, not {text}")
    return _ACKS[text]


def _codec(given: Mapping[str, str]) -> Codec:
    name = given.get("compression.type", "none").upper()
    if name not in Codec.__members__:
        raise CommandError(f"Unknown compression name: {given['compression.type']}")
    return Codec[name]


def _number(given: Mapping[str, str], name: str, default: int) -> int:
    try:
        return int(given.get(name, default))
    except ValueError:
        raise CommandError(f"{name} must be a whole number, not {given[name]}") from None


def _identity(cluster: AdminCluster, acks: int) -> ProducerIdentity | None:
    """None without ``acks=all``, or when a user may not have a producer id."""
    if acks != ACKS_ALL:
        return None
    try:
        return ProducerIdentity(cluster, None)
    except KafkaError as error:
        if error.code != ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
        return None
