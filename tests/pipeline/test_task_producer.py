"""Tests of the errors of a sink's producer, without Spark: each is one clear line."""

from pathlib import Path

import pytest
from pybroker.pipeline.options.write_options import write_options
from support.processes.broker_process import BrokerProcess
from support.spark.sink_columns import Columns


def failure_of_a_row(servers: str, **settings: str) -> str:
    """Writes a row to the topic `rows`; returns the error."""
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    from pybroker.pipeline.topics.task_producer import TaskProducer, WriteError

    given = {"kafka.bootstrap.servers": servers, "topic": "rows"}
    given |= {f"kafka.{name.replace('_', '.')}": value for name, value in settings.items()}
    options = write_options(given, Columns("value"), overwrite=False)
    with pytest.raises(WriteError) as error, TaskProducer(options) as producer:
        producer.send_all([{"value": "one"}])
    return str(error.value)


def test_unreachable_broker_is_named_with_the_cause() -> None:
    failure = failure_of_a_row("127.0.0.1:1", delivery_timeout_ms="500", linger_ms="0")
    assert failure.startswith("A record for rows could not be written: ")
    assert "127.0.0.1:1" in failure
    assert "Connection refused" in failure
    assert failure.count("\n") == 0


def test_missing_topic_is_named(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, {"auto.create.topics.enable": "false"}) as broker:
        failure = failure_of_a_row(broker.bootstrap_servers, topic_metadata_propagation_max_ms="0")
    assert failure == "A record for rows could not be written: Broker: Unknown topic or partition"


@pytest.mark.parametrize("header", [None, {"key": None, "value": b"1"}])
def test_null_among_the_headers_is_named(header: dict[str, bytes | None] | None) -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    from pybroker.pipeline.topics.task_producer import TaskProducer, WriteError

    given = {
        "kafka.bootstrap.servers": "127.0.0.1:1",
        "topic": "rows",
        "kafka.delivery.timeout.ms": "500",
        "kafka.linger.ms": "0",
    }
    options = write_options(given, Columns("value"), overwrite=False)
    row = {"value": b"x", "headers": [{"key": "k", "value": None}, header]}
    says = r"^A record for rows has a header that is null or has no key$"
    with pytest.raises(WriteError, match=says), TaskProducer(options) as producer:
        producer.send_all([row])
