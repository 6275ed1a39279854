"""Every option of the data source "pybroker", and of Spark's own Kafka connector, as rows of a page."""

from __future__ import annotations

from typing import NamedTuple

_SAME = "the same"
_NONE = "–"


class OptionRow(NamedTuple):
    """Names of options, what they do here, and in Spark's connector."""

    names: tuple[str, ...]
    here: str
    connector: str = _SAME


def _row(names: str, here: str, connector: str = _SAME) -> OptionRow:
    return OptionRow(tuple(names.split()), here, connector)


READING = (
    _row("kafka.bootstrap.servers", "required"),
    _row(
        "assign subscribe subscribePattern",
        "one is required; a pattern is a Python regular expression that may match any part of the name",
        "a Java regular expression",
    ),
    _row(
        "startingOffsets startingOffsetsByTimestamp startingTimestamp",
        "at most one; default earliest, for streams latest. The first micro-batch of a query that starts at `latest` "
        "or at a timestamp is fixed in the checkpoint",
        "one has precedence over another",
    ),
    _row("startingOffsetsByTimestampStrategy", "`error` (default) or `latest`, when no record is that late"),
    _row(
        "endingOffsets endingOffsetsByTimestamp endingTimestamp",
        "at most one, batch only; default latest",
        "one has precedence over another",
    ),
    _row("failOnDataLoss", "`true` (default): lost records are an error; `false`: a warning"),
    _row(
        "minPartitions maxRecordsPerPartition",
        "how a query is split into tasks; without them a task has at most a million offsets",
        "without them one task per partition; set `minPartitions=1` for that",
    ),
    _row("includeHeaders", "column `headers`; default `false`"),
    _row(
        "maxOffsetsPerTrigger",
        "most offsets of a micro-batch; before PySpark 4.2 a query with `Trigger.AvailableNow` ends after one",
    ),
    _row(
        "endAtLatest",
        "`true`: read nothing behind the offsets that are the latest at the start. Before PySpark 4.2, in place of "
        '`Trigger.AvailableNow`: start with `trigger(processingTime="0 seconds")`, then call `processAllAvailable()` '
        "and `stop()`",
        _NONE,
    ),
    _row(
        "minOffsetsPerTrigger maxTriggerDelay",
        "fewest offsets of a micro-batch, and how long to wait for them (15m)",
        "also delays `Trigger.AvailableNow`",
    ),
    _row(
        "commitOffsetsToGroup",
        "a consumer group that gets the end of each micro-batch when Spark asks for the next one, so that tools show "
        "the lag; a failed commit is a warning",
        _NONE,
    ),
    _row(
        "fetchOffset.numRetries fetchOffset.retryIntervalMs", "when offsets seem to have gone back; default 3 and 1000"
    ),
    _row("kafkaConsumer.pollTimeoutMs", "how long a task waits for records or their broker; default 120000"),
    _row("kafka.isolation.level", "`read_uncommitted` (default) or `read_committed`"),
    _row(
        "kafka.max.partition.fetch.bytes kafka.fetch.max.bytes kafka.fetch.max.wait.ms kafka.check.crcs "
        "kafka.client.id kafka.request.timeout.ms kafka.retry.backoff.ms kafka.receive.buffer.bytes",
        "as in Kafka's consumer; a fetch is 4 MiB by default",
        "a fetch is 1 MiB by default",
    ),
    _row(
        "kafka.socket.connection.setup.timeout.ms",
        "how long a connection may take, and how long a query that begins looks for a broker; default 10000, for "
        "streaming sinks 60000",
        "a connection only",
    ),
    _row(
        "groupIdPrefix kafka.group.id",
        "no effect, with a warning: the readers join no group",
        "the group of its consumers",
    ),
    _row("kafka.auto.offset.reset kafka.enable.auto.commit kafka.interceptor.classes", "an error"),
    _row("kafka.key.deserializer kafka.value.deserializer", "an error: cast the column"),
)

WRITING = (
    _row("topic", "topic of all rows; overrides the column `topic`"),
    _row(
        "kafka.transactional.id",
        "prefix of transactional ids: each task of a micro-batch is a transaction, exactly once. In `foreachBatch` "
        "each write to a topic needs its own",
        "no transactions",
    ),
    _row("kafka.acks kafka.enable.idempotence", "default `all` and `true`"),
    _row("kafka.partitioner.class", "an error: set `kafka.partitioner` to a partitioner of librdkafka", "a Java class"),
    _row("kafka.key.serializer kafka.value.serializer", "an error"),
    _row(
        "kafka.buffer.memory kafka.compression.type kafka.linger.ms",
        "and all other settings of producers and librdkafka",
    ),
)

SECURITY = (
    _row("kafka.security.protocol", "`PLAINTEXT` (default), `SSL`, `SASL_PLAINTEXT`, `SASL_SSL`"),
    _row(
        "kafka.ssl.truststore.location kafka.ssl.truststore.password kafka.ssl.truststore.type",
        "`JKS` (default), `PKCS12`, `PEM`; without a store the system's trusted certificates",
        "without a store Java's trusted certificates",
    ),
    _row(
        "kafka.ssl.keystore.location kafka.ssl.keystore.password kafka.ssl.keystore.type kafka.ssl.key.password",
        "as above",
    ),
    _row(
        "kafka.ssl.truststore.certificates kafka.ssl.keystore.certificate.chain kafka.ssl.keystore.key",
        "PEM text, with the type `PEM`. Jobs keep the key out of plans; your own session needs `spark.redaction.regex`",
    ),
    _row("kafka.ssl.endpoint.identification.algorithm", "`https` (default); empty: host names are not checked"),
    _row(
        "kafka.sasl.mechanism kafka.sasl.jaas.config",
        "`PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, `OAUTHBEARER`; for writing also librdkafka's others",
        "also `GSSAPI`, and login modules of your own",
    ),
    _row(
        "kafka.sasl.oauthbearer.token.endpoint.url",
        "where `OAUTHBEARER` gets tokens; for reading also `file:///…`",
    ),
    _row("spark.kafka.clusters.*", "no delegation tokens: the names are Spark's, not options", "delegation tokens"),
)
