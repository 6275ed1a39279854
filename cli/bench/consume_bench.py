"""``pybroker bench consume``: reads records as fast as the cluster gives them, and says how fast that was."""

import sys
import time
from collections.abc import Iterator

from ...base.command_parser import CommandParser
from ...client.fetching.fetches import MAX_PLAIN_BYTES
from ...client.fetching.partition_reader import Batches, PartitionReader
from ...protocol.records.batch import RecordBatch
from ...protocol.records.record import plain_payload, read_records
from ...protocol.records.value_split import split_values
from ..consume.places import chosen_partitions, ends_of, parse_start, parse_until, starts_of
from ..exit_codes import DONE
from ..verb import Call, Verb
from .consumer_columns import INTERVAL_TITLES, TITLES, Counted, interval_line, whole_line
from .produce_bench import positive

__all__ = ["CONSUME"]

_RETRY_S = 60.0


def _arguments(parser: CommandParser) -> None:
    add = parser.add_argument
    add("topics", metavar="TOPIC[:P[-P]]", nargs="+", help="a topic, one of its partitions, or a range of them")
    add("--records", metavar="N", type=positive, help="stop after so many records; default: all that are there now")
    add("--interval", metavar="SECONDS", type=positive, help="a line each so many seconds, in place of one at the end")


def _run(call: Call) -> int:
    options = call.options
    starts = starts_of(call.cluster, chosen_partitions(call.cluster, options.topics), parse_start("start"))
    ends = ends_of(call.cluster, starts, parse_until("end"))
    reader = PartitionReader(call.cluster, starts, ends, call.output.say, max(_RETRY_S, options.timeout))
    sys.stdout.write(f"{TITLES if options.interval is None else INTERVAL_TITLES}\n")
    start = last = now = Counted(_now_ms(), 0, 0)
    for now in _counts(reader, options.records):
        if options.interval is not None and now.time_ms - last.time_ms >= options.interval * 1000:
            sys.stdout.write(f"{interval_line(start, last, now)}\n")
            sys.stdout.flush()
            last = now
    if options.interval is None:
        sys.stdout.write(f"{whole_line(start, now)}\n")
    elif now is not last:
        sys.stdout.write(f"{interval_line(start, last, now)}\n")
    if options.records is not None and now.records < options.records:
        call.output.say(f"only {now.records:,} records are there")
    return DONE


def _counts(reader: PartitionReader, most: int | None) -> Iterator[Counted]:
    """Yields how much was read, after each batch, until there is enough."""
    records = value_bytes = 0
    for found in reader.batches():
        for batch in found.batches:
            sizes = _value_sizes(batch, found)
            if most is not None:
                sizes = sizes[: most - records]
            records += len(sizes)
            value_bytes += sum(sizes)
            yield Counted(_now_ms(), records, value_bytes)
            if records == most:
                return


def _value_sizes(batch: RecordBatch, found: Batches) -> list[int]:
    """The size of each value, for which a batch is unpacked as by any consumer. Raises KafkaError for a broken one."""
    if batch.magic >= 2 and found.start <= batch.base_offset and batch.last_offset < found.end:
        return list(map(len, split_values(plain_payload(batch, MAX_PLAIN_BYTES), batch.record_count)))
    records = read_records(batch, MAX_PLAIN_BYTES)
    return [len(record.value or b"") for record in records if found.start <= record.offset < found.end]


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


CONSUME = Verb(
    "consume",
    "read records, and print the columns of kafka-consumer-perf-test; MB are those of the values",
    _arguments,
    _run,
    prints_itself=True,
)
