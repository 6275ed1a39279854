"""``pybroker bench produce``: writes records as fast as the cluster takes them, and says how fast that was."""

import argparse
import os
import sys
import time
from collections import defaultdict, deque

from ...base.command_parser import CommandParser
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.pace import Pace
from ...client.producing.batch_producer import ACKS_ALL, BatchProducer
from ...client.producing.identity import ProducerIdentity
from ...protocol.records.compression import Codec
from ..exit_codes import DONE
from ..topics.found_topics import named_topics
from ..verb import Call, Verb
from .latencies import Latencies

__all__ = ["PRODUCE", "positive"]

_ACKS = {"all": ACKS_ALL, "1": 1}
_RECORD_OVERHEAD = 16
_RETRY_S = 60.0
_LETTERS = bytes(ord("A") + byte % 26 for byte in range(256))


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("topic", metavar="TOPIC", help="a topic that exists; the records stay in it")
    add("--records", metavar="N", type=positive, default=1_000_000, help="how many records to write (%(default)s)")
    add("--record-size", metavar="BYTES", type=positive, default=100, help="size of a value (%(default)s)")
    add("--batch", metavar="BYTES", type=positive, default=100_000, help="size of a batch (%(default)s)")
    add("--rate", metavar="N", type=positive, help="at most so many records a second")
    add("--acks", metavar="N", choices=sorted(_ACKS), default="all", help="all or 1 (%(default)s)")
    codecs = [codec.name.lower() for codec in Codec]
    add("--compression", metavar="CODEC", choices=codecs, default="none", help=f"{', '.join(codecs)} (%(default)s)")


def _run(call: Call) -> int:
    options = call.options
    (topic,) = named_topics(call.cluster, [options.topic])
    if options.dry_run:
        call.output.say(f"would write {options.records:,} records of {options.record_size:,} bytes to {options.topic}")
        return DONE
    began = time.monotonic()
    latencies = _measured(call.cluster, options, len(topic.partitions))
    sys.stdout.write(latencies.line(time.monotonic() - began, options.record_size) + "\n")
    return DONE


def _measured(cluster: AdminCluster, options: argparse.Namespace, partitions: int) -> Latencies:
    """Write the records, in batches that go to the partitions in turn."""
    latencies = Latencies()
    sent: dict[TopicPartition, deque[tuple[float, int]]] = defaultdict(deque)

    def written(at: TopicPartition, _: int, count: int) -> None:
        sent_s, left = sent[at].popleft()
        latencies.add((time.monotonic() - sent_s) * 1000, count)
        if left > count:  # a part of a batch that was too large
            sent[at].appendleft((sent_s, left - count))

    acks = _ACKS[options.acks]
    producer = BatchProducer(
        cluster,
        written,
        acks=acks,
        codec=Codec[options.compression.upper()],
        identity=ProducerIdentity(cluster, None) if acks == ACKS_ALL else None,
        retry_s=max(_RETRY_S, options.timeout),
    )
    pace = Pace(options.rate)
    in_batch = max(1, options.batch // (options.record_size + _RECORD_OVERHEAD))
    left, turn = options.records, 0
    while left:
        count = min(left, in_batch)
        pace.wait_for(count)
        at = TopicPartition(options.topic, turn % partitions)
        values = _values(count, options.record_size)
        sent[at].append((time.monotonic(), count))
        producer.send_values(at, values, time.time_ns() // 1_000_000)
        left -= count
        turn += 1
    producer.flush()
    return latencies


def _values(count: int, size: int) -> list[bytes]:
    """Values of random letters, as Kafka's script writes them, so that codecs find as much to compress."""
    letters = os.urandom(count * size).translate(_LETTERS)
    return [letters[start : start + size] for start in range(0, count * size, size)]


def positive(text: str) -> int:
    """The number in an argument, which must be 1 or more."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return number


PRODUCE = Verb(
    "produce",
    "write records, and print the columns of kafka-producer-perf-test",
    _arguments,
    _run,
    changes=True,
    prints_itself=True,
)
