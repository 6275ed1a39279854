"""``pybroker-pipeline mirror``: its arguments, and the job."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .arguments import JobParser, source_options
from .command import say

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..mirror.mirror import MirrorProgress
    from ..options.kafka_settings import ReaderSettings

_WANTED = {"kafka.isolation.level": "read_committed"}

_DESCRIPTION = """\
Copies topics to another cluster: records with keys, headers, partitions and timestamps, each once, however often the
job is killed and started again, and which offset became which. Topics that the other cluster lacks are made, with as
many partitions. CHECKPOINT is a directory, or a URI that Spark can write to."""


def parser() -> JobParser:
    """The arguments of the job."""
    made = JobParser("mirror", _DESCRIPTION)
    made.add_argument("--source", required=True, metavar="HOST:PORT,...", help="brokers that are read from")
    made.add_argument("--target", required=True, metavar="HOST:PORT,...", help="brokers that are written to")
    made.add_topics()
    made.add_argument("--checkpoint", required=True, metavar="DIR", help="where it is kept how far it is")
    made.add_argument("--map", metavar="DIR", help="where to keep which offset became which (map in CHECKPOINT)")
    made.add_argument("--prefix", default="", help="put before the names of topics at the target")
    made.add_pace("mirror", every="1 second", max_records=1_000_000)
    made.add_compression()
    for side in ("source", "target"):
        made.add_settings(f"--{side}-option", f"a further option of the {side}, as kafka.security.protocol=SSL")
    return made


def run(arguments: Sequence[str]) -> int:
    """The job; returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # From here on it takes Spark.
    from ...protocol.errors import KafkaError
    from ..mirror.mirror import MirrorError
    from ..options.read_options import stream_options
    from .session import job_session, told_in_a_line

    with told_in_a_line(MirrorError, KafkaError, OSError):
        target = target_settings(options)
        stream_options(source_of(options))  # wrong ones are told before Spark is started
        with job_session("mirror", options.master, dict(options.conf)) as spark:
            return mirror_job(spark, target, options)


def target_settings(options: argparse.Namespace) -> ReaderSettings:
    """How the target is reached. Raises OptionError."""
    from ..options.kafka_settings import reader_settings
    from ..options.options import Options

    given = {"kafka.bootstrap.servers": options.target, **dict(options.target_option)}
    return reader_settings(Options(given, ()).kafka)


def source_of(options: argparse.Namespace) -> dict[str, str]:
    """The options of the source that the arguments mean."""
    return source_options(options, options.source, _WANTED, dict(options.source_option))


def mirror_job(spark: SparkSession, target: ReaderSettings, options: argparse.Namespace) -> int:
    """The job in a session; returns its exit code. Raises what `run` makes lines of."""
    from ...protocol.records.compression import Codec
    from ..charts.page import counted
    from ..mirror.mirror import Mirror
    from .query_watch import StopRequest, watch

    began = time.monotonic()
    mirror = Mirror(
        spark,
        source_of(options),
        target,
        options.checkpoint,
        offset_map=options.map,
        prefix=options.prefix,
        codec=Codec[options.compression.upper()],
        told=_tell,
    )
    with StopRequest().listening() as stop:
        query = mirror.start(available_now=options.available_now, every=options.every)
        was_stopped = watch(query, stop, lambda progress: None)
    how = "stopped" if was_stopped else "done"
    done = f"{counted(mirror.offsets, 'offset')} in {counted(mirror.batches, 'micro-batch')}"
    say(f"{how}: {done}, {time.monotonic() - began:.1f} s")
    return 0


def _tell(progress: MirrorProgress) -> None:
    rate = progress.offsets / max(progress.seconds, 0.001)
    say(f"batch {progress.batch_id}: {progress.offsets:,} offsets, {rate:,.0f} a second, {progress.behind:,} behind")
