"""Tests of the job `replay` on real Spark: archived rows return to topics unchanged, each once."""

import copy
import dataclasses
import random
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.clients.produced import KEEPS_OLD_RECORDS, START_MS, Produced, numbered, produce
from support.clients.row_count import RowCount
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.spark.gathered_rows import need_columns
from support.spark.pipeline_job import pipeline_job
from support.spark.spark_rows import found_in, loaded, source_options, with_retry
from support.time.skipped_waits import SkippedWaits

need_columns()

if TYPE_CHECKING:
    from pybroker.pipeline.replay.replay import Replay
    from pyspark.sql import SparkSession

ROWS = 42
TOPIC = "replayed"


class Replaying:
    """Replays one archived topic whose records have every property a record can have."""

    def __init__(self, spark: "SparkSession", servers: str, root: Path) -> None:
        self._spark = spark
        self.servers = servers
        self.root = root / "archive"
        self.checkpoint = root / "checkpoint"
        self.expected: list[Produced] = []

    def archive(self, rows: int = ROWS) -> None:
        from pybroker.pipeline.archive.archive_query import Archive

        create_topic(self.servers, TOPIC, 2)
        records = [
            each._replace(headers=(("n", b"%d" % number), ("none", None)) if number % 3 == 0 else ())
            for number, each in enumerate(numbered(TOPIC, [0, 1], rows - 2))
        ]
        records += [Produced(TOPIC, 0, -1, START_MS, None, b""), Produced(TOPIC, 1, -1, START_MS + 9, b"k", None)]
        self.expected = produce(self.servers, records)
        options = {"subscribe": TOPIC, "startingOffsets": "earliest", "includeHeaders": "true"}
        job = Archive(self._spark, source_options(self.servers, **options), str(self.root))
        with_retry(lambda: job.start(available_now=True).awaitTermination())

    def to(self, topic: str, *, rate: float | None = None, **chosen: Any) -> "Replay":
        """Returns a replay that continues the last one to that topic."""
        from pybroker.pipeline.options.kafka_settings import reader_settings
        from pybroker.pipeline.replay.archived_rows import Selection
        from pybroker.pipeline.replay.replay import Replay, Target

        settings = reader_settings({"bootstrap.servers": self.servers})
        selection = Selection(str(self.root), **chosen)
        target = Target(settings, topic, rate=rate)
        return with_retry(lambda: Replay(self._spark, selection, target, str(self.checkpoint / topic)))

    def run(self, topic: str, **chosen: Any) -> int:
        """Runs the replay; returns the number of rows that were there before."""
        replay = self.to(topic, **chosen)
        replay.begin()
        before = replay.reached()
        with_retry(lambda: replay.write(before))
        return sum(before.values())

    def found(self, topic: str) -> list[Produced]:
        """Returns the rows at the target with their offsets, with the name of the archived topic."""
        frame = loaded(self._spark.read, self.servers, subscribe=topic, includeHeaders="true")
        return [row._replace(topic=TOPIC) for row in found_in(frame)]

    def chosen(self, *offsets: int) -> list[Produced]:
        """Returns the rows that a replay of these offsets of each partition writes."""
        found = [each for each in self.expected if each.offset in offsets]
        return [each._replace(offset=offsets.index(each.offset)) for each in found]


@pytest.fixture(scope="module")
def archived(spark: "SparkSession", broker: Any, tmp_path_factory: pytest.TempPathFactory) -> Replaying:
    replaying = Replaying(spark, broker.bootstrap_servers, tmp_path_factory.mktemp("replay"))
    replaying.archive()
    return replaying


def test_replay_that_begins_gives_up_within_ten_seconds_if_no_broker_is_at_the_address(
    archived: Replaying, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = SkippedWaits(monkeypatch)
    elsewhere = copy.copy(archived)
    elsewhere.servers = "127.0.0.1:1"
    with pytest.raises(ConnectionError, match=r"no connection to 127\.0\.0\.1:1"):
        elsewhere.to(topic)
    assert waits.now_s < 10.5


def test_replayed_rows_equal_the_archived_ones_and_are_written_once(archived: Replaying, topic: str) -> None:
    create_topic(archived.servers, topic, 2)
    replay = archived.to(topic)
    assert (replay.plan.rows, replay.is_begun, replay.warnings) == (ROWS, False, [])
    assert archived.found(topic) == [], "it is only looked at"
    assert not (archived.checkpoint / topic).exists()
    assert archived.run(topic) == 0
    assert archived.found(topic) == archived.expected
    assert archived.run(topic) == ROWS
    assert archived.found(topic) == archived.expected


def test_replay_selects_rows_by_offsets_times_and_condition(archived: Replaying, topic: str) -> None:
    create_topic(archived.servers, topic, 2)
    archived.run(
        topic,
        topics=(TOPIC,),
        from_offset=3,
        until_offset=15,
        from_us=(START_MS + 10) * 1000,
        until_us=(START_MS + 24) * 1000,
        where="offset % 2 = 1",
    )
    assert archived.found(topic) == archived.chosen(5, 7, 9, 11)


@pytest.mark.parametrize("where", [None, "offset <> 3"], ids=["of all offsets", "of some"])
def test_replay_continues_after_a_killed_task(archived: Replaying, topic: str, where: str | None) -> None:
    """The killed task has written some rows and only read others; another producer writes too."""
    from pybroker.pipeline.replay.partition_replay import PartitionReplay

    create_topic(archived.servers, topic, 2)
    produce(archived.servers, numbered(topic, [0, 1], 4))
    replay = archived.to(topic, where=where)
    replay.begin()
    offsets = [offset for offset in range(21) if where is None or offset != 3]
    of_one = {each.offset: each for each in archived.expected if each.partition == 1}
    writing = dataclasses.replace(replay._writing(), batch_bytes=150)
    killed = PartitionReplay(replay.plan.partitions[1], writing, ROWS, 0)
    for offset in offsets[:13]:
        row = of_one[offset]
        killed.add(offset, row.timestamp, row.key, row.value, row.headers)
    killed._append.wait()
    killed.close()
    assert 0 < killed.written < 13
    produce(archived.servers, numbered(topic, [0, 1], 4))
    assert archived.run(topic, where=where) == killed.written
    found = [row for row in archived.found(topic) if row.value not in (b"v0", b"v1", b"v2", b"v3")]
    expected = [row for row in archived.chosen(*offsets) if row.value not in (b"v0", b"v1", b"v2", b"v3")]
    assert [row._replace(offset=0) for row in found] == [row._replace(offset=0) for row in expected]


def test_invalid_replay_is_refused_before_anything_is_written(
    archived: Replaying, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pybroker.pipeline.archive.manifest import ManifestError
    from pybroker.pipeline.replay.archived_rows import SelectionError
    from pybroker.pipeline.replay.partition_replay import ReplayError
    from pybroker.pipeline.replay.replay_plan import PlanError

    with pytest.raises(ReplayError, match=f"partitions of the target do not exist: {topic}-0, {topic}-1"):
        archived.to(topic)
    create_topic(archived.servers, topic, 2, {"message.timestamp.type": "LogAppendTime"})
    with pytest.raises(ReplayError, match=f"{topic} has message.timestamp.type=LogAppendTime"):
        archived.to(topic)
    with pytest.raises(SelectionError, match=r"'rand\(\) < 0.5' is not deterministic"):
        archived.to(topic, where="rand() < 0.5")
    with pytest.raises(ManifestError, match=rf"the archive at .* has no topic absent, b; it has {TOPIC}"):
        archived.to(topic, topics=("b", TOPIC, "absent"))
    create_topic(archived.servers, f"{topic}-b", 2, {"retention.ms": "1000"})
    begun = archived.to(f"{topic}-b", where="offset = 1")
    assert begun.warnings == [f"{topic}-b has retention.ms=1000: older rows may be deleted immediately"]
    begun.begin()
    with pytest.raises(PlanError, match="is the checkpoint of a replay with another where"):
        archived.to(f"{topic}-b", where="offset = 2")
    monkeypatch.setattr(archived, "root", archived.root / "elsewhere")
    with pytest.raises(ManifestError, match=r"there is no archive at .*elsewhere"):
        archived.to(topic)


def test_file_in_the_root_of_a_table_is_written_inside_it(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan of a replay is such a file."""
    from pybroker.pipeline.archive.table_files import HadoopFiles

    files = HadoopFiles(spark, str(tmp_path / "new"))
    files.write_text("plan.json", "1")
    assert files.read_text("plan.json") == "1"
    monkeypatch.setattr(files, "move", lambda source, target: None)
    files.write_text("plan.json", "2")
    assert (tmp_path / "new" / ".plan.json.unfinished").read_text() == "2"


def test_replay_stops_on_request_and_continues_later(archived: Replaying, spark: "SparkSession", topic: str) -> None:
    """A task waits after its first row, until long after it is killed."""
    from pybroker.pipeline.jobs.action_watch import watch_action
    from pybroker.pipeline.jobs.query_watch import StopRequest

    create_topic(archived.servers, topic, 2)
    replay = archived.to(topic, rate=0.001)
    replay.begin()
    stop = StopRequest()

    def stop_when_some_are_there() -> None:
        stop.is_made = sum(replay.reached().values()) > 0

    assert watch_action(spark, lambda: replay.write(replay.reached()), stop, stop_when_some_are_there, 1)
    assert 0 < archived.run(topic) < ROWS
    assert archived.found(topic) == archived.expected


RUNS_WHEN_LONG = 3
ROWS_TO_KILL_AT = 600


def replay_through_kills(spark: "SparkSession", directory: Path, rounds: int, seed: int) -> None:
    """Each round kills the broker, then a task's process, then the driver; the last run finishes the rest."""
    from pybroker.pipeline.jobs.replay_command import parser, replay_job, target_of

    chance = random.Random(seed)
    with BrokerProcess(directory / "broker", KEEPS_OLD_RECORDS) as broker, ExitStack() as of_end:
        replaying = Replaying(spark, broker.bootstrap_servers, directory)
        replaying.archive(ROWS_TO_KILL_AT)
        create_topic(replaying.servers, "copy", 2)
        killed: Counter[str] = Counter(dict.fromkeys(("broker", "task", "driver"), 0))
        rows = of_end.enter_context(closing(RowCount(replaying.servers, "copy", 2)))
        arguments = ["--archive", str(replaying.root), "--bootstrap-servers", replaying.servers]
        arguments += ["--topic", "copy", "--checkpoint", str(directory / "plan"), "--rate"]
        for _ in range(rounds):
            with pipeline_job(directory / "said", "replay", *arguments, str(ROWS_TO_KILL_AT // 4)) as job:
                job.await_that(rows.more(chance.randint(1, ROWS_TO_KILL_AT // rounds // 3)), "rows")
                killed["broker"] += not job.has_ended
                broker.kill()
                broker.start()
                job.await_that(rows.more(1), "rows after the broker was killed")
                killed["task"] += job.kill_a_worker()
                job.await_that(rows.more(chance.randint(1, ROWS_TO_KILL_AT // rounds // 3)), "rows after a task was")
                killed["driver"] += not job.has_ended
        options = parser().parse_args([*arguments, "1000000"])
        assert with_retry(lambda: replay_job(spark, options, target_of(options))) == 0
        assert replaying.found("copy") == replaying.expected
        assert all(killed.values()), f"while the job was at work: {killed}"


def test_each_row_is_replayed_once_after_kills_of_broker_task_and_driver(
    spark: "SparkSession", tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    replay_through_kills(spark, tmp_path, 1, seed=1)
    told = capfd.readouterr().err
    assert "done: " in told
    assert " already there, 0 left, " in told


@pytest.mark.long
def test_each_row_is_replayed_once_after_many_kills(
    spark: "SparkSession", tmp_path: Path, kill_rounds: int, kill_seed: int
) -> None:
    rounds = -(-kill_rounds // RUNS_WHEN_LONG)
    for seed in range(kill_seed, kill_seed + RUNS_WHEN_LONG):
        replay_through_kills(spark, tmp_path / str(seed), rounds, seed)
