"""Tests of the topic of dead letters, without Spark."""

from pathlib import Path
from typing import Any

import pytest
from pybroker.client.given_options import OptionError
from support.clients.topics import create_topic
from support.processes.broker_process import BrokerProcess
from support.spark.gathered_rows import need_columns
from support.spark.sink_columns import Columns

need_columns()


@pytest.mark.parametrize("source", [{"subscribePattern": "events"}, {"Subscribe": "events, events-dead"}])
def test_topic_that_the_job_would_read_is_refused_for_its_dead_letters(source: dict[str, str]) -> None:
    from pybroker.pipeline.archive.dead_letter_topic import DeadLetterTopic

    spark: Any = None
    with pytest.raises(OptionError, match="the job reads the topic events-dead"):
        DeadLetterTopic(spark, source, "events-dead")
    DeadLetterTopic(spark, source, "failed")


def test_dead_letters_may_be_as_large_as_their_topic_accepts(tmp_path: Path) -> None:
    from pybroker.pipeline.archive.dead_letter_topic import sink_options
    from pybroker.pipeline.options.write_options import write_options
    from pybroker.pipeline.topics.task_producer import TaskProducer, WriteError

    with BrokerProcess(tmp_path) as broker:
        create_topic(broker.bootstrap_servers, "dead", 1, {"max.message.bytes": "6000000"})
        source = {"kafka.bootstrap.servers": broker.bootstrap_servers}

        def send(size_bytes: int, **given: str) -> None:
            further = {f"kafka.{name.replace('_', '.')}": text for name, text in given.items()}
            options = write_options(sink_options(source, "dead", further), Columns("value"), overwrite=False)
            with TaskProducer(options) as producer:
                producer.send_all([{"value": b"x" * size_bytes}])

        send(5_000_000)
        with pytest.raises(
            WriteError, match=r"written: .*: raise max\.message\.bytes of the topic, or set 'kafka\.comp"
        ):
            send(7_000_000)
        send(7_000_000, compression_type="gzip")
        for name in ("max_request_size", "message_max_bytes"):
            with pytest.raises(WriteError, match=r"refused: .* size too large: raise 'kafka\.max\.request\.size'$"):
                send(5_000_000, **{name: "2000000"})


def test_option_that_the_producer_of_dead_letters_refuses_is_named_at_the_start() -> None:
    from pybroker.pipeline.archive.dead_letter_topic import DeadLetterTopic

    spark: Any = None
    source = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "events"}
    DeadLetterTopic(spark, source, "dead", {"kafka.compression.type": "zstd"})
    for name, says in (
        ("kafka.no.such", "An option 'kafka.…' is invalid for writing"),
        ("acks", "Unknown option 'acks'"),
    ):
        with pytest.raises(OptionError, match=says):
            DeadLetterTopic(spark, source, "dead", {name: "1"})
