"""Tests that a query or job that begins gives up within ten seconds if no broker is at the address."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pybroker.pipeline.options.read_options import batch_options, stream_options
from pybroker.pipeline.options.write_options import write_options
from support.spark.pipeline_commands import run_command
from support.spark.sink_columns import Columns
from support.time.skipped_waits import SkippedWaits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOBODY = "127.0.0.1:1"
GIVEN = {"kafka.bootstrap.servers": NOBODY, "subscribe": "t"}
PATIENCE_S = 10.5
"""With the pause before the last attempt."""


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> SkippedWaits:
    return SkippedWaits(monkeypatch)


def plan_batch() -> None:
    from pybroker.pipeline.topics.topic_reader import TopicReader

    TopicReader(batch_options(GIVEN)).partitions()


def begin_stream() -> None:
    from pybroker.pipeline.topics.topic_stream_reader import TopicStreamReader

    TopicStreamReader(stream_options(GIVEN)).initialOffset()


def continue_stream() -> None:
    from pybroker.pipeline.topics.topic_stream_reader import TopicStreamReader

    TopicStreamReader(stream_options({**GIVEN, "commitOffsetsToGroup": "g"})).latestOffset({"t": {"0": 7}})


@pytest.mark.parametrize("begin", [plan_batch, begin_stream, continue_stream])
def test_query_that_begins_gives_up_soon(begin: Callable[[], None], waits: SkippedWaits) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    with pytest.raises(ConnectionError, match=f"no connection to {NOBODY}"):
        begin()
    assert waits.now_s < PATIENCE_S


@pytest.mark.parametrize("wrong", ["--source", "--target"])
def test_mirror_that_begins_gives_up_soon(
    spark: "SparkSession",
    servers: str,
    tmp_path: Path,
    wrong: str,
    waits: SkippedWaits,
    capsys: pytest.CaptureFixture[str],
) -> None:
    given = {"--source": servers, "--target": servers, wrong: NOBODY, "--topics": "t", "--checkpoint": str(tmp_path)}
    assert run_command(spark, "mirror", *(word for each in given.items() for word in each)) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"pybroker-pipeline: no connection to {NOBODY}: ")
    assert waits.now_s < PATIENCE_S


def test_sink_that_begins_names_the_broker_that_does_not_answer() -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    from pybroker.pipeline.topics.task_producer import WriteError
    from pybroker.pipeline.topics.topic_writer import TopicWriter

    given = {"kafka.bootstrap.servers": NOBODY, "topic": "t", "kafka.socket.connection.setup.timeout.ms": "2000"}
    with pytest.raises(WriteError, match=rf"^No broker answers: {NOBODY}/.*Connection refused"):
        TopicWriter(write_options(given, Columns("value"), overwrite=False))
