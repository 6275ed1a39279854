"""The job `pybroker-pipeline mirror`: its arguments and its run."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .arguments import JobParser, given_options, names, source_options
from .command import say
from .metrics_file import MetricsFile, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..mirror.mirror import MirrorProgress
    from ..options.kafka_settings import ReaderSettings

_IDLE_S = 9.0
_WANTED = {"kafka.isolation.level": "read_committed"}

_DESCRIPTION = """\
Copies topics to another cluster, with keys, headers, partitions and timestamps. Each record is copied exactly once,
even if the job is killed and started again. A map from source to target offsets is kept. Topics that the target lacks
are created with as many partitions, and with the settings that the source's topics have of their own. CHECKPOINT is a
directory, or a URI that Spark can write to."""


def parser() -> JobParser:
    """Returns the parser of the job's arguments."""
    made = JobParser("mirror", _DESCRIPTION)
    made.add_argument("--source", required=True, metavar="HOST:PORT,...", help="brokers of the source cluster")
    made.add_argument("--target", required=True, metavar="HOST:PORT,...", help="brokers of the target cluster")
    made.add_topics()
    made.add_argument("--checkpoint", required=True, metavar="DIR", help="directory for the progress of this mirror")
    made.add_argument("--map", metavar="DIR", help="directory for the map of offsets (default: map in CHECKPOINT)")
    made.add_argument("--prefix", default="", help="prefix for the names of topics in the target cluster")
    made.add_argument(
        "--carry-groups",
        metavar="A,B",
        type=names,
        default=(),
        help="carry the offsets of these consumer groups to the target, once a minute and at the end",
    )
    made.add_argument(
        "--acls", action="store_true", help="carry the ACLs of topics to the target, but no right to write"
    )
    made.add_pace("mirror", every="1 second", max_records=1_000_000)
    made.add_compression()
    made.add_metrics()
    for side in ("source", "target"):
        made.add_connection(side, f"{side}-")
    return made


def run(arguments: Sequence[str]) -> int:
    """Runs the job and returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    # Imports that need the extra `spark` start here.
    from ...protocol.errors import KafkaError
    from ..mirror.topic_rules import MirrorError, mirrored_source
    from .session import errors_in_one_line, job_session

    with errors_in_one_line(MirrorError, KafkaError, OSError):
        target = target_settings(options)
        mirrored_source(source_of(options))  # reports wrong options before Spark starts
        with job_session("mirror", options.master, dict(options.conf)) as spark:
            return mirror_job(spark, target, options)


def target_settings(options: argparse.Namespace) -> ReaderSettings:
    """Returns the connection settings of the target cluster. Raises OptionError."""
    from ..options.kafka_settings import reader_settings
    from ..options.options import Options

    given = {"kafka.bootstrap.servers": options.target, **given_options(options, "target_")}
    return reader_settings(Options(given, ()).kafka)


def source_of(options: argparse.Namespace) -> dict[str, str]:
    """Returns the source options that the arguments describe."""
    return source_options(options, options.source, _WANTED, given_options(options, "source_"))


def mirror_job(spark: SparkSession, target: ReaderSettings, options: argparse.Namespace) -> int:
    """Runs the job in a Spark session and returns its exit code. Raises the errors that `run` turns into JobError."""
    from ...protocol.records.compression import Codec
    from ..charts.page import counted
    from ..mirror.carrier import Carried
    from ..mirror.mirror import Mirror
    from ..mirror.topic_rules import mirrored_source
    from ..topics.source_lag import measure_lag
    from .query_watch import StopRequest, reached_offsets, watch

    source = source_of(options)
    read = mirrored_source(source)
    began = time.monotonic()
    metrics = MetricsFile(options.metrics_file, "mirror", options.target)

    def report(progress: MirrorProgress) -> None:
        say(_line(progress))
        metrics.report(Progress(mirror.rows, mirror.batches, progress.seconds, *progress.lag))

    def report_idle(progress: Any) -> None:
        """Spark reports a query without new records every ten seconds."""
        if time.time() - metrics.reported_s >= _IDLE_S:
            lag = measure_lag(read, reached_offsets(progress), time.time() * 1000)
            metrics.report(metrics.last._replace(lag_records=lag.records, lag_seconds=lag.seconds))

    mirror = Mirror(
        spark,
        source,
        target,
        options.checkpoint,
        offset_map=options.map,
        prefix=options.prefix,
        codec=Codec[options.compression.upper()],
        carried=Carried(options.carry_groups, options.acls),
        on_progress=report,
    )
    with metrics, StopRequest().listening() as stop:
        try:
            was_stopped = watch(
                lambda: mirror.start(available_now=options.available_now, every=options.every),
                stop,
                report_idle,
                mirror.carry_if_idle,
            )
        except Exception:
            if mirror.batches:  # otherwise the clusters may be out of reach
                mirror.carry()
            raise
        mirror.carry()
    how = "stopped" if was_stopped else "done"
    done = f"{counted(mirror.offsets, 'offset')} in {counted(mirror.batches, 'micro-batch')}"
    say(f"{how}: {done}, {time.monotonic() - began:.1f} s")
    return 0


def _line(progress: MirrorProgress) -> str:
    rate = progress.offsets / max(progress.seconds, 0.001)
    return f"batch {progress.batch_id}: {progress.offsets:,} offsets, {rate:,.0f} a second, {progress.lag.words}"
