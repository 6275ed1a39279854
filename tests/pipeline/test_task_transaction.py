"""Tests of a sink's transaction for each task, at a broker and without Spark: kills leave each row once."""

from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from pybroker.pipeline.options.write_options import WriteOptions, write_options
from pybroker.pipeline.topics.task_mark import TaskMark
from support.clients.topics import create_topic
from support.spark.sink_columns import Columns

PREFIX = "sink"


@pytest.fixture
def options(servers: str, topic: str) -> WriteOptions:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    create_topic(servers, topic, 1)
    given = {"kafka.bootstrap.servers": servers, "topic": topic, "kafka.transactional.id": PREFIX}
    return write_options(given, Columns("value"), overwrite=False)


def attempt(options: WriteOptions, batch_id: int, task: int = 0, *, write: str = "w", run: str = "r") -> Any:
    from pybroker.pipeline.topics.task_identity import TaskIdentity
    from pybroker.pipeline.topics.task_transaction import TaskTransaction

    return TaskTransaction(options, PREFIX, TaskIdentity(f"query-{options.topic}", batch_id, task, write, run))


def write(options: WriteOptions, batch_id: int, *values: str, task: int = 0, of: str = "w", run: str = "r") -> None:
    """Writes values in the write `of` of a micro-batch."""
    with attempt(options, batch_id, task, write=of, run=run) as transaction:
        transaction.send_all([{"value": value} for value in values])


def committed(options: WriteOptions, topic: str = "") -> list[str]:
    """Returns the values that a reader of committed records sees in a topic, by default in that of the options."""
    given = {"bootstrap.servers": options.producer["bootstrap.servers"], "group.id": "reader"}
    consumer = Consumer({**given, "isolation.level": "read_committed", "enable.partition.eof": "true"})
    found = []
    try:
        consumer.assign([TopicPartition(topic or str(options.topic), 0, 0)])
        while (message := consumer.poll(60)) is not None and message.error() is None:
            found.append((message.value() or b"").decode())
    finally:
        consumer.close()
    return found


def test_repeated_task_writes_its_rows_only_once(options: WriteOptions) -> None:
    """A restarted query repeats the last micro-batch, of which some tasks had committed."""
    write(options, 0, "a", "b")
    write(options, 0, "a", "b")
    write(options, 0, "a", "b", of="w-of-restarted", run="restarted")
    write(options, 0, "c", task=1)
    write(options, 1)
    write(options, 2, "d")
    write(options, 2, "d")
    assert committed(options) == ["a", "b", "c", "d"]


def test_killed_task_leaves_no_rows_and_its_next_attempt_writes_all(options: WriteOptions) -> None:
    """The second attempt fences the first, which still lives and can neither write nor commit."""
    from pybroker.pipeline.topics.task_producer import WriteError

    first = attempt(options, 0)
    first.send_all([{"value": "a"}])
    write(options, 0, "a", "b")
    with pytest.raises(WriteError):
        first.__exit__(None)
    assert committed(options) == ["a", "b"]


def test_failed_task_leaves_no_rows(options: WriteOptions) -> None:
    transaction = attempt(options, 0)
    transaction.send_all([{"value": "a"}])
    transaction.__exit__(ZeroDivisionError)
    assert committed(options) == []
    write(options, 0, "a")
    assert committed(options) == ["a"]


def test_task_that_gets_other_rows_when_repeated_is_refused(options: WriteOptions) -> None:
    from pybroker.pipeline.topics.task_producer import WriteError

    write(options, 3, "a", "b")
    with pytest.raises(WriteError, match=r"Micro-batch 3 was written with 2 rows .* and has 1 now"):
        write(options, 3, "a")
    with pytest.raises(WriteError, match=r"Micro-batch 3 is written .* so 2 can't be"):
        write(options, 2, "z")
    assert committed(options) == ["a", "b"]


def test_second_write_of_a_micro_batch_to_a_topic_is_refused_also_after_a_restart(options: WriteOptions) -> None:
    """The mark at the topic can't tell which of both writes is there. A repeated first write renews it."""
    from pybroker.pipeline.topics.task_producer import WriteError

    for run in ("first", "restarted"):
        write(options, 0, "a", "b", of=f"one-{run}", run=run)
        with pytest.raises(WriteError, match=r"Micro-batch 0 was written to topic .* give each write .* its own"):
            write(options, 0, "c", "d", of=f"two-{run}", run=run)
    assert committed(options) == ["a", "b"]


def test_task_is_aborted_if_another_write_left_its_mark_at_a_later_topic_of_its_rows(servers: str, topic: str) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    from pybroker.pipeline.topics.task_producer import WriteError

    names = [f"{topic}-one", f"{topic}-two"]
    for name in names:
        create_topic(servers, name, 1)
    given = {"kafka.bootstrap.servers": servers, "kafka.transactional.id": topic}
    options = write_options(given, Columns("topic", "value"), overwrite=False)
    with attempt(options, 0, write="first") as transaction:
        transaction.send_all([{"topic": names[1], "value": "a"}])
    second = attempt(options, 0, write="second")
    second.send_all([{"topic": name, "value": "b"} for name in names])
    with pytest.raises(WriteError, match=rf"was written to topic {names[1]} .* by another write"):
        second.__exit__(None)
    assert [committed(options, name) for name in names] == [[], ["a"]]


def test_marks_of_earlier_releases_hold_only_the_number_of_rows() -> None:
    assert TaskMark.from_text("7") == TaskMark(7, "", "")
    assert TaskMark.from_text(TaskMark(7, "w", "r").text()) == TaskMark(7, "w", "r")


def test_foreach_batch_that_sets_a_job_group_is_refused() -> None:
    """The job group is how the sink tells a second write of a micro-batch from one that Spark repeats."""
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    from pybroker.pipeline.topics.task_identity import identity_of
    from pybroker.pipeline.topics.task_producer import WriteError

    run = "11a837d9-0943-4493-8b78-e03eb714fcfc"
    properties = {"sql.streaming.queryId": "q", "streaming.sql.batchId": "5", "spark.jobGroup.id": run}
    assert identity_of(properties.get, 3, "w") == ("q", 5, 3, "w", run)
    for group in ("nightly", None):
        with pytest.raises(WriteError, match="set no job group in foreachBatch"):
            identity_of({**properties, "spark.jobGroup.id": group}.get, 3, "w")


def test_rows_of_several_topics_are_written_once_in_whatever_order_they_come(servers: str, topic: str) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    names = [f"{topic}-one", f"{topic}-two"]
    for name in names:
        create_topic(servers, name, 1)
    given = {"kafka.bootstrap.servers": servers, "kafka.transactional.id": topic}
    options = write_options(given, Columns("topic", "value"), overwrite=False)
    rows = [{"topic": name, "value": f"to {name}"} for name in names]
    for order in (rows, rows[::-1]):
        with attempt(options, 0) as transaction:
            transaction.send_all(order)
    assert [committed(options, name) for name in names] == [[f"to {name}"] for name in names]
