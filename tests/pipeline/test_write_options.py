"""Tests of the columns and options for writing to topics."""

from typing import Any

import pytest
from pybroker.client.given_options import OptionError
from pybroker.pipeline.options.write_options import WriteOptions, write_options

NEEDED = {"kafka.bootstrap.servers": "localhost:9092"}
HEADERS = "array<struct<key:string,value:binary>>"


OF_KAFKAS_PRODUCER = {
    f"kafka.{name}": value
    for name, value in {
        "batch.size": "16384",
        "buffer.memory": "33554432",
        "client.dns.lookup": "use_all_dns_ips",
        "compression.type": "gzip",
        "compression.gzip.level": "5",
        "connections.max.idle.ms": "540000",
        "delivery.timeout.ms": "120000",
        "enable.metrics.push": "false",
        "linger.ms": "5",
        "max.block.ms": "60000",
        "max.in.flight.requests.per.connection": "5",
        "max.request.size": "1048576",
        "metadata.max.age.ms": "300000",
        "metadata.max.idle.ms": "300000",
        "metric.reporters": "",
        "metrics.num.samples": "2",
        "partitioner.availability.timeout.ms": "0",
        "receive.buffer.bytes": "32768",
        "reconnect.backoff.max.ms": "1000",
        "reconnect.backoff.ms": "50",
        "request.timeout.ms": "30000",
        "retries": "2147483647",
        "retry.backoff.max.ms": "1000",
        "retry.backoff.ms": "100",
        "send.buffer.bytes": "131072",
        "socket.connection.setup.timeout.max.ms": "30000",
        "socket.connection.setup.timeout.ms": "10000",
        "ssl.protocol": "TLSv1.3",
        "transaction.timeout.ms": "60000",
    }.items()
}
"""Settings of Kafka's producer with their defaults."""


class Column:
    """The part of a schema's field that the sink reads."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.dataType = self
        self._kind = kind

    def simpleString(self) -> str:  # noqa: N802 (Spark's name)
        return self._kind


class Schema:
    def __init__(self, **columns: str) -> None:
        self.fields = [Column(name, kind) for name, kind in columns.items()]


def options_of(columns: dict[str, str], *, overwrite: bool = False, **given: Any) -> WriteOptions:
    """Returns options; names have underscores for dots."""
    named = {name.replace("_", "."): value for name, value in given.items()}
    return write_options({**NEEDED, **named}, Schema(**columns), overwrite=overwrite)


def test_known_columns_are_written_and_others_ignored() -> None:
    columns = {"other": "date", "value": "binary", "key": "string", "headers": HEADERS, "partition": "int"}
    assert options_of(columns, topic=" t ").columns == ("key", "value", "headers", "partition")
    assert options_of(columns, topic=" t ").topic == "t"


def test_options_of_sparks_streaming_query_are_accepted() -> None:
    assert options_of({"value": "string"}, topic="t", checkpointlocation="/c", queryName="q").topic == "t"


def test_option_topic_overrides_a_column_of_any_type() -> None:
    assert options_of({"topic": "int", "value": "string"}, topic="t").topic == "t"


@pytest.mark.parametrize(
    ("columns", "given", "named"),
    [
        ({"key": "string"}, {"topic": "t"}, "Required column 'value' is missing"),
        ({"value": "string"}, {}, "Option 'topic' is required"),
        ({"value": "string", "topic": "binary"}, {}, "Column 'topic' must be string, not binary"),
        ({"value": "int"}, {"topic": "t"}, "Column 'value' must be string or binary, not int"),
        ({"value": "string", "key": "bigint"}, {"topic": "t"}, "Column 'key' must be string or binary, not bigint"),
        ({"value": "string", "partition": "bigint"}, {"topic": "t"}, "Column 'partition' must be int, not bigint"),
        ({"value": "string", "headers": "map<string,binary>"}, {"topic": "t"}, "Column 'headers' must be array"),
        ({"value": "string"}, {"topic": ""}, "Option 'topic' is empty"),
        ({"value": "string"}, {"topic": "t", "topics": "u"}, "'topics'; did you mean 'topic'"),
        ({"value": "string"}, {"topic": "t", "kafka_key_serializer": "x"}, "'kafka.key.serializer' is not supported"),
        (
            {"value": "string"},
            {"topic": "t", "kafka_transactional_id": "x", "kafka_acks": "1"},
            "'kafka.transactional.id' needs 'kafka.acks' all",
        ),
        ({"value": "string"}, {"topic": "t", "kafka_transactional_id": ""}, "'kafka.transactional.id' is empty"),
        ({"value": "string"}, {"topic": "t", "kafka_buffer_memory": "32m"}, "'kafka.buffer.memory' must be a whole"),
        ({"value": "string"}, {"topic": "t", "kafka_partitioner_class": "x"}, "'kafka.partitioner.class' is not"),
    ],
)
def test_invalid_write_options_are_refused_by_name(columns: dict[str, str], given: dict[str, Any], named: str) -> None:
    with pytest.raises(OptionError) as error:
        options_of(columns, **given)
    assert named in str(error.value)


def test_overwrite_mode_is_refused() -> None:
    with pytest.raises(OptionError, match="Mode 'overwrite' is not supported"):
        options_of({"value": "string"}, topic="t", overwrite=True)


def test_streaming_sink_takes_the_output_mode_complete(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark then asks for a sink that overwrites."""
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    from pybroker.pipeline import PybrokerDataSource
    from pybroker.pipeline.topics.task_producer import TaskProducer
    from pybroker.pipeline.topics.topic_writer import StreamTopicWriter

    monkeypatch.setattr(TaskProducer, "await_broker", lambda producer, timeout_s: None)
    source = PybrokerDataSource({**NEEDED, "topic": "t"})
    assert isinstance(source.streamWriter(Schema(value="string"), overwrite=True), StreamTopicWriter)


def test_write_needs_bootstrap_servers() -> None:
    with pytest.raises(OptionError, match=r"'kafka\.bootstrap\.servers' must be given"):
        write_options({"topic": "t"}, Schema(value="string"), overwrite=False)


def test_producer_defaults_are_those_of_kafkas_producer() -> None:
    settings = options_of({"value": "string"}, topic="t", kafka_compression_type="lz4").producer
    assert settings["acks"] == "all"
    assert settings["enable.idempotence"] == "true"
    assert settings["partitioner"] == "murmur2_random"
    assert settings["compression.type"] == "lz4"
    weaker = options_of({"value": "string"}, topic="t", kafka_acks="1").producer
    assert "enable.idempotence" not in weaker, "the producer would refuse both"


def test_kafka_setting_names_are_translated_to_librdkafka(
    caplog: pytest.LogCaptureFixture,
) -> None:
    settings = options_of(
        {"value": "string"},
        topic="t",
        kafka_buffer_memory="33554432",
        kafka_compression_type="zstd",
        kafka_compression_gzip_level="9",
        kafka_compression_zstd_level="7",
        kafka_max_block_ms="60000",
        kafka_max_request_size="2000000",
        kafka_send_buffer_bytes="131072",
    ).producer
    assert settings["queue.buffering.max.kbytes"] == "32768"
    assert settings["compression.level"] == "7"
    assert settings["message.max.bytes"] == "2000000"
    assert settings["socket.send.buffer.bytes"] == "131072"
    assert not settings.keys() & {"buffer.memory", "max.block.ms", "compression.gzip.level", "compression.zstd.level"}
    assert "'kafka.max.block.ms' has no effect on this sink" in caplog.text


def test_security_option_without_a_protocol_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    options_of({"value": "string"}, topic="t", kafka_ssl_truststore_location="/ca", kafka_ssl_truststore_type="PEM")
    assert "'kafka.ssl.truststore.location' has no effect with 'kafka.security.protocol' PLAINTEXT" in caplog.text


def test_unknown_producer_setting_is_refused_by_name() -> None:
    pytest.importorskip("pyspark", reason="the extra 'spark' is not installed: there is no PySpark")
    from pybroker.pipeline.topics.topic_writer import checked_producer

    checked_producer(options_of({"value": "string"}, topic="t", kafka_linger_ms="5"))
    checked_producer(
        write_options({"topic": "t", **NEEDED, **OF_KAFKAS_PRODUCER}, Schema(value="string"), overwrite=False)
    )
    with pytest.raises(OptionError, match=r"no\.such"):
        checked_producer(options_of({"value": "string"}, topic="t", kafka_no_such="x"))
