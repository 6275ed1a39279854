"""``pybroker-pipeline mirror``: its arguments, and the job."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from typing import Any

from .command import BAD_INPUT, JobError, JobParser
from .replay_command import CODECS, failure_line

_DESCRIPTION = """\
Copies topics to another cluster: records with keys, headers, partitions and timestamps, each once, however often the
job is killed and started again, and which offset became which. Topics that the other cluster lacks are made, with as
many partitions. CHECKPOINT is a directory, or a URI that Spark can write to."""


def parser() -> JobParser:
    """The arguments of the job."""
    made = JobParser("mirror", _DESCRIPTION)
    made.add_argument("--source", required=True, metavar="HOST:PORT,...", help="brokers that are read from")
    made.add_argument("--target", required=True, metavar="HOST:PORT,...", help="brokers that are written to")
    topics = made.add_mutually_exclusive_group(required=True)
    topics.add_argument("--topics", metavar="A,B", help="all partitions of these topics")
    topics.add_argument("--pattern", metavar="REGEX", help="of all topics with such a name, also of those to come")
    made.add_argument("--checkpoint", required=True, metavar="DIR", help="where it is kept how far it is")
    made.add_argument("--map", metavar="DIR", help="where to keep which offset became which (map in CHECKPOINT)")
    made.add_argument("--prefix", default="", help="put before the names of topics at the target")
    made.add_argument("--available-now", action="store_true", help="mirror what is there and end")
    made.add_argument("--every", default="1 second", metavar="TIME", help="how often to begin a micro-batch (1 second)")
    made.add_argument("--max-records", type=int, default=1_000_000, metavar="N", help="the most of one (1000000)")
    made.add_argument("--compression", choices=CODECS, default="none", help="of the batches that are written")
    made.add_argument("--group", help="a consumer group at the source that shows how far the job is")
    for side in ("source", "target"):
        made.add_argument(
            f"--{side}-option",
            metavar="NAME=VALUE",
            action="append",
            default=[],
            help=f"a further option of the {side}, as kafka.security.protocol=SSL",
        )
    return made


def run(arguments: Sequence[str]) -> int:
    """The job; returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # From here on it takes Spark.
    from .session import job_session, settings_of

    try:
        source = source_options(options, settings_of(options.source_option))
        target = target_settings(options, settings_of(options.target_option))
        spark = job_session("mirror", options.master, options.conf)
        try:
            return mirror_job(spark, source, target, options)
        finally:
            spark.stop()
    except ValueError as error:
        raise JobError(str(error), BAD_INPUT) from None


def source_options(options: argparse.Namespace, further: dict[str, str]) -> dict[str, str]:
    """The options of the source that the arguments mean; those given by `--source-option` count more."""
    found = {
        "kafka.bootstrap.servers": options.source,
        "startingOffsets": "earliest",
        "kafka.isolation.level": "read_committed",
        "maxOffsetsPerTrigger": options.max_records,
        "subscribe": options.topics,
        "subscribePattern": options.pattern,
        "commitOffsetsToGroup": options.group,
    }
    return {name: str(value) for name, value in found.items() if value is not None} | further


def target_settings(options: argparse.Namespace, further: dict[str, str]) -> Any:
    """How the target is reached. Raises OptionError."""
    from ..kafka_settings import reader_settings
    from ..options import Options

    return reader_settings(Options({"kafka.bootstrap.servers": options.target, **further}, ()).kafka)


def mirror_job(spark: Any, source: dict[str, str], target: Any, options: argparse.Namespace) -> int:
    """The job in a session; returns its exit code. Raises JobError."""
    from pyspark.errors import PySparkException

    from ...protocol.errors import KafkaError
    from ...protocol.records.compression import Codec
    from ..mirror.mirror import Mirror, MirrorError
    from .query_watch import StopRequest, watch

    began = time.monotonic()
    codec = Codec[options.compression.upper()]
    mirror = Mirror(
        spark,
        source,
        target,
        options.checkpoint,
        offset_map=options.map,
        prefix=options.prefix,
        codec=codec,
        told=_tell,
    )
    try:
        with StopRequest().listening() as stop:
            query = mirror.start(available_now=options.available_now, every=options.every)
            was_stopped = watch(query, stop, lambda line: None)
    except PySparkException as error:
        raise JobError(failure_line(error)) from None
    except (MirrorError, KafkaError, OSError) as error:
        raise JobError(str(error)) from None
    offsets = sum(each.offsets for each in mirror.progress)
    how = "stopped" if was_stopped else "done"
    _say(f"{how}: {offsets:,} offsets in {len(mirror.progress)} micro-batches, {time.monotonic() - began:.1f} s")
    return 0


def _tell(progress: Any) -> None:
    rate = progress.offsets / max(progress.seconds, 0.001)
    _say(f"batch {progress.batch_id}: {progress.offsets:,} offsets, {rate:,.0f} a second, {progress.behind:,} behind")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
