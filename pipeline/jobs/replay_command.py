"""``pybroker-pipeline replay``: its arguments, and the job."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from .command import BAD_INPUT, JobError, JobParser

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_MICROSECOND = 1_000_000

_DESCRIPTION = """\
Writes rows of a table that `archive` wrote into topics: keys, values, headers, partitions and timestamps as they were.
Stopped or killed and started again with the same CHECKPOINT it goes on where it was, and writes no row twice. The
topics must be there, with as many partitions."""


def parser() -> JobParser:
    """The arguments of the job."""
    made = JobParser("replay", _DESCRIPTION)
    made.add_argument("--archive", required=True, metavar="DIR", help="the table")
    made.add_argument("--bootstrap-servers", required=True, metavar="HOST:PORT,...")
    made.add_argument("--checkpoint", required=True, metavar="DIR", help="where it is kept what this replay does")
    made.add_argument("--topics", metavar="A,B", help="rows of these; of all when not given")
    made.add_argument("--topic", help="where to, in place of the topic that the rows came from")
    made.add_argument("--from-offset", type=int, metavar="N", help="rows of each partition from this offset on")
    made.add_argument("--until-offset", type=int, metavar="N", help="and before this one")
    made.add_argument("--from-time", type=time_us, metavar="TIME", help="rows from '2026-11-21 08:00' on; UTC")
    made.add_argument("--until-time", type=time_us, metavar="TIME", help="and before this time")
    made.add_argument("--where", metavar="CONDITION", help="rows for which this SQL holds: \"key = 'k1'\"")
    made.add_argument("--rate", type=float, metavar="N", help="the most rows a second, of all partitions together")
    made.add_argument("--compression", choices=CODECS, default="none", help="of the batches that are written")
    made.add_argument("--dry-run", action="store_true", help="print what would be written, and write nothing")
    made.add_argument(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a further option of the target, as kafka.security.protocol=SSL",
    )
    return made


def time_us(text: str) -> int:
    """Microseconds of a time as ISO 8601 has it; UTC, when it says no other zone. Raises ArgumentTypeError."""
    try:
        given = datetime.fromisoformat(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be like 2026-11-21 or '2026-11-21 08:00', not '{text}'") from None
    if given.tzinfo is None:
        given = given.replace(tzinfo=UTC)
    since = given - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * _MICROSECOND + since.microseconds


def run(arguments: Sequence[str]) -> int:
    """The job; returns its exit code. Raises JobError."""
    options = parser().parse_args(arguments)
    if options.rate is not None and not options.rate > 0:
        raise JobError("--rate must be positive", BAD_INPUT)
    # From here on it takes Spark.
    from pyspark.errors import PySparkException

    from ...protocol.errors import KafkaError
    from ..appending.written_batches import UnsettledError
    from ..archive.manifest import ManifestError
    from ..replay.archived_rows import SelectionError
    from ..replay.partition_replay import ReplayError
    from ..replay.replay_plan import PlanError
    from .session import job_session

    try:
        target = target_of(options)
        spark = job_session("replay", options.master, options.conf)
    except ValueError as error:
        raise JobError(str(error), BAD_INPUT) from None
    try:
        return replay_job(spark, options, target)
    except SelectionError as error:
        raise JobError(str(error), BAD_INPUT) from None
    except PySparkException as error:
        raise JobError(failure_line(error)) from None
    except (ManifestError, PlanError, ReplayError, UnsettledError, KafkaError, OSError) as error:
        raise JobError(str(error)) from None
    finally:
        spark.stop()


def target_of(options: argparse.Namespace) -> Any:
    """Where the arguments say that rows go to, a `Target`. Raises ValueError."""
    from ...protocol.records.compression import Codec
    from ..kafka_settings import reader_settings
    from ..options import Options
    from ..replay.replay import Target
    from .session import settings_of

    given = Options({"kafka.bootstrap.servers": options.bootstrap_servers, **settings_of(options.option)}, ())
    return Target(reader_settings(given.kafka), options.topic, Codec[options.compression.upper()], options.rate)


def selection_of(options: argparse.Namespace) -> Any:
    """Which rows the arguments mean, a `Selection`."""
    from ..replay.archived_rows import Selection

    return Selection(
        options.archive,
        None if options.topics is None else tuple(options.topics.split(",")),
        options.from_offset,
        options.until_offset,
        options.from_time,
        options.until_time,
        options.where,
    )


def failure_line(error: Exception) -> str:
    """What Spark says, in a line: the error that a task of ours raised, or how its own message begins."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    raised = [line.partition(": ")[2] for line in lines if line.startswith("pybroker.") and ": " in line]
    return (raised or lines or [type(error).__name__])[0]


def replay_job(spark: Any, options: argparse.Namespace, target: Any) -> int:
    """The job in a session; returns its exit code. Raises what `run` makes lines of."""
    from ..replay.replay import Replay
    from .action_watch import LOOKS_BETWEEN_LINES, watch_action
    from .query_watch import StopRequest

    began = time.monotonic()
    replay = Replay(spark, selection_of(options), target, options.checkpoint)
    for warning in replay.warnings:
        _say(f"warning: {warning}")
    before = replay.reached()
    if options.dry_run:
        _print_plan(replay.plan, before)
        return 0
    progress = _Progress(replay, sum(before.values()), began)
    with StopRequest().listening() as stop:
        replay.begin()
        was_stopped = watch_action(spark, lambda: replay.write(before), stop, progress.tell, LOOKS_BETWEEN_LINES)
    there, rows = sum(replay.reached().values()), replay.plan.rows
    written = f"{there - progress.before:,} rows written, {progress.before:,} were there, {rows - there:,} left"
    _say(f"{'stopped' if was_stopped else 'done'}: {written}, {time.monotonic() - began:.1f} s")
    return 0


class _Progress:
    """Rows, by what is in the logs."""

    def __init__(self, replay: Any, before: int, began: float) -> None:
        self.before = before
        self._replay = replay
        self._last = (before, began)

    def tell(self) -> None:
        from ...protocol.errors import KafkaError
        from ..appending.written_batches import UnsettledError

        try:
            there = sum(self._replay.reached(patience_ms=1000).values())
        except (UnsettledError, KafkaError, OSError):
            return  # the tasks know what to do about it; here it is a line less
        last, when = self._last
        self._last = (there, now := time.monotonic())
        rate, rows = (there - last) / max(now - when, 0.001), self._replay.plan.rows
        _say(f"{there:,} of {rows:,} rows, {rate:,.0f} a second, {rows - there:,} left")


def _print_plan(plan: Any, there: dict[Any, int]) -> None:
    for each in plan.partitions:
        offsets = f"offsets {each.first} to {each.last}"
        print(f"{each.source} to {each.target}: {each.rows:,} rows, {offsets}, {there[each.target]:,} are there")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
