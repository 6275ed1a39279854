"""The job `pybroker-pipeline replay`: its arguments and its run."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from .arguments import JobParser, given_options, names
from .command import BAD_INPUT, JobError, say
from .metrics_file import MetricsFile, Progress

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ...base.topic_partition import TopicPartition
    from ..replay.archived_rows import Selection
    from ..replay.replay import Replay, Target
    from ..replay.replay_plan import ReplayPlan

_MICROSECOND = 1_000_000

_DESCRIPTION = """\
Writes rows of a table made by `archive` back into topics, with their keys, values, headers, partitions and timestamps.
If it is stopped or killed, start it again with the same CHECKPOINT: it continues and writes no row twice. The topics
must exist and have at least as many partitions."""


def parser() -> JobParser:
    """Returns the parser of the job's arguments."""
    made = JobParser("replay", _DESCRIPTION)
    made.add_argument(
        "--archive", required=True, metavar="DIR", help="the table written by `pybroker-pipeline archive`"
    )
    made.add_argument("--bootstrap-servers", required=True, metavar="HOST:PORT,...", help="brokers of the target")
    made.add_argument(
        "--checkpoint", required=True, metavar="DIR", help="directory for the plan and progress of this replay"
    )
    made.add_argument("--topics", type=names, metavar="A,B", help="replay rows of these topics (default: all topics)")
    made.add_argument("--topic", help="write all rows to this topic (default: the topic they came from)")
    made.add_argument("--from-offset", type=int, metavar="N", help="replay rows from this offset of each partition")
    made.add_argument("--until-offset", type=int, metavar="N", help="replay rows before this offset of each partition")
    made.add_argument(
        "--from-time", type=time_us, metavar="TIME", help="replay rows from this time (UTC), such as '2026-11-21 08:00'"
    )
    made.add_argument("--until-time", type=time_us, metavar="TIME", help="replay rows before this time")
    made.add_argument(
        "--where", metavar="CONDITION", help="replay rows that meet this SQL condition, such as \"key = 'k1'\""
    )
    made.add_argument("--rate", type=float, metavar="N", help="maximum rows a second, all partitions together")
    made.add_compression()
    made.add_argument("--dry-run", action="store_true", help="print the plan and write nothing")
    made.add_connection("target")
    made.add_metrics()
    return made


def time_us(text: str) -> int:
    """Returns the microseconds since 1970 of an ISO 8601 time, which is UTC unless it names a zone. Raises
    ArgumentTypeError.
    """
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be like 2026-11-21 or '2026-11-21 08:00', not '{text}'") from None
    if given.tzinfo is None:
        given = given.replace(tzinfo=UTC)
    since = given - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _MICROSECOND + since.microseconds


def run(arguments: Sequence[str]) -> int:
    """Runs the job and returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    if options.rate is not None and not options.rate > 0:
        raise JobError("--rate must be greater than 0", BAD_INPUT)
    # Imports that need the extra `spark` start here.
    from ...protocol.errors import KafkaError
    from ..appending.written_batches import UnsettledError
    from ..archive.manifest import ManifestError
    from ..replay.archived_rows import SelectionError
    from ..replay.partition_replay import ReplayError
    from ..replay.replay_plan import PlanError
    from .session import errors_in_one_line, job_session

    failures = (ManifestError, PlanError, ReplayError, UnsettledError, KafkaError, OSError)
    with errors_in_one_line(*failures, refusals=(SelectionError,)):
        target = target_of(options)
        with job_session("replay", options.master, dict(options.conf)) as spark:
            return replay_job(spark, options, target)


def target_of(options: argparse.Namespace) -> Target:
    """Returns the target that the arguments describe. Raises OptionError."""
    from ...protocol.records.compression import Codec
    from ..options.kafka_settings import reader_settings
    from ..options.options import Options
    from ..replay.replay import Target

    given = {"kafka.bootstrap.servers": options.bootstrap_servers, **given_options(options)}
    settings = reader_settings(Options(given, ()).kafka)
    return Target(settings, options.topic, Codec[options.compression.upper()], options.rate)


def selection_of(options: argparse.Namespace) -> Selection:
    """Returns the selection of rows that the arguments describe."""
    from ..replay.archived_rows import Selection

    return Selection(
        options.archive,
        options.topics,
        options.from_offset,
        options.until_offset,
        options.from_time,
        options.until_time,
        options.where,
    )


def replay_job(spark: SparkSession, options: argparse.Namespace, target: Target) -> int:
    """Runs the job in a Spark session and returns its exit code. Raises the errors that `run` turns into JobError."""
    from ..replay.replay import Replay
    from .action_watch import LOOKS_BETWEEN_LINES, watch_action
    from .query_watch import StopRequest

    began = time.monotonic()
    replay = Replay(spark, selection_of(options), target, options.checkpoint)
    for warning in replay.warnings:
        say(f"warning: {warning}")
    before = replay.reached()
    if options.dry_run:
        _print_plan(replay.plan, before)
        return 0
    metrics = MetricsFile(options.metrics_file, "replay", options.bootstrap_servers)
    progress = _Progress(replay, sum(before.values()), began, metrics)
    with metrics, StopRequest().listening() as stop:
        replay.begin()
        was_stopped = watch_action(spark, lambda: replay.write(before), stop, progress.report, LOOKS_BETWEEN_LINES)
        there, rows = sum(replay.reached().values()), replay.plan.rows
        metrics.report(Progress(there - progress.before, 0, None, rows - there))
    written = f"{there - progress.before:,} rows written, {progress.before:,} already there, {rows - there:,} left"
    say(f"{'stopped' if was_stopped else 'done'}: {written}, {time.monotonic() - began:.1f} s")
    return 0


class _Progress:
    """Progress of a replay, measured by the rows in the target's logs."""

    def __init__(self, replay: Replay, before: int, began: float, metrics: MetricsFile) -> None:
        self.before = before
        self._metrics = metrics
        self._replay = replay
        self._last = (before, began)

    def report(self) -> None:
        from ...protocol.errors import KafkaError
        from ..appending.written_batches import UnsettledError

        try:
            there = sum(self._replay.reached(retry_timeout_ms=1000).values())
        except (UnsettledError, KafkaError, OSError):
            return  # the tasks handle the failure; only this progress line is skipped
        last, when = self._last
        self._last = (there, now := time.monotonic())
        rate, rows = (there - last) / max(now - when, 0.001), self._replay.plan.rows
        say(f"{there:,} of {rows:,} rows, {rate:,.0f} a second, {rows - there:,} left")
        self._metrics.report(Progress(there - self.before, 0, None, rows - there))


def _print_plan(plan: ReplayPlan, there: Mapping[TopicPartition, int]) -> None:
    for each in plan.partitions:
        offsets = f"offsets {each.first} to {each.last}"
        print(f"{each.source} to {each.target}: {each.rows:,} rows, {offsets}, {there[each.target]:,} already written")
