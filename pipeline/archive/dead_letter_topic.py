"""Sends records whose values can't be decoded to a topic, with headers that say where they are from.

They are sent before their micro-batch is committed to the table, in one transaction that names the micro-batch. So
readers of committed records see each once, also if Spark repeats the micro-batch (topics/task_transaction.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)
from pyspark.sql.types import BinaryType, StructField, StructType

from ...client.given_options import OptionError
from ..columns.row_ddl import HEADERS_DDL
from ..options.options import Options
from ..options.read_options import KNOWN
from ..options.subscription import reads_topic, subscription_of
from ..options.write_options import write_options
from .archive_rows import DEAD_LETTERS, TABLE

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

__all__ = ["DeadLetterTopic", "sink_options"]

_COLUMNS = f"key binary, value binary, partition int, offset bigint, error string, topic string{HEADERS_DDL}"
_HEADERS_TYPE = HEADERS_DDL.partition("headers ")[2]
_SENT = ("topic", "partition", "offset", "error")
_PREFIX = "dead-letter."
_CONNECTION = ("kafka.bootstrap.servers", "kafka.client.id", "kafka.security.", "kafka.ssl.", "kafka.sasl.")
_PATIENCE = "kafka.socket.connection.setup.timeout.ms"
"""Brokers may restart while the job runs."""
_MOST_BYTES = "1000000000"
"""The most that librdkafka allows, so that only the topic limits the size of dead letters."""
_SIZES = ("kafka.max.request.size", "kafka.message.max.bytes")
_TRANSACTIONS = "pybroker-archive"
"""Prefix of the transactional ids; the query's id follows."""


class DeadLetterTopic:
    """A topic in the cluster of the source."""

    def __init__(
        self, spark: SparkSession, source: Mapping[str, str], topic: str, given: Mapping[str, str] | None = None
    ) -> None:
        """`source`: options of the source. `given`: further ones of the producer. Raises OptionError, also if the job
        reads that topic, because it would send its own dead letters again.
        """
        if reads_topic(subscription_of(Options(source, KNOWN)), topic):
            raise OptionError(f"the job reads the topic {topic}, so it can't be the topic of dead letters")
        self._spark = spark
        self._options = sink_options(source, topic, given or {})
        if given:
            _check_producer(self._options)

    def send(self, staged: str) -> None:
        """Sends the dead letters among the staged files of a micro-batch: in one task and in one order, because a
        repeated micro-batch has other files.
        """
        place = f"{staged}/{TABLE}={DEAD_LETTERS}"
        rows = self._spark.read.schema(_COLUMNS).option("basePath", place).parquet(place)
        rows = rows.coalesce(1).sortWithinPartitions("topic", "partition", "offset")
        sent = rows.select("key", "value", _headers().alias("headers"))
        sent.write.format("pybroker").mode("append").options(**self._options).save()


def sink_options(source: Mapping[str, str], topic: str, given: Mapping[str, str]) -> dict[str, str]:
    """Returns the options of the sink: those of the source's connection, overridden by `given`."""
    found = {name: text for name, text in source.items() if name.startswith(_CONNECTION)}
    found[_PATIENCE] = "60000"
    further = {name.lower(): text for name, text in given.items()}
    if not further.keys() & set(_SIZES):
        found["kafka.message.max.bytes"] = _MOST_BYTES
    return found | further | {"topic": topic, "kafka.transactional.id": _TRANSACTIONS}


def _check_producer(options: Mapping[str, str]) -> None:
    """Raises OptionError for an option that the producer refuses, before there is a dead letter."""
    from ..topics.topic_writer import checked_producer

    checked_producer(write_options(options, StructType([StructField("value", BinaryType())]), overwrite=False))


def _headers() -> Column:
    """Returns the record's headers, and those that say where it is from."""
    empty = F.array().cast(_HEADERS_TYPE)
    added = F.array(*(F.struct(F.lit(_PREFIX + name).alias("key"), _text(name).alias("value")) for name in _SENT))
    return F.concat(F.coalesce(F.col("headers"), empty), added.cast(_HEADERS_TYPE))


def _text(name: str) -> Column:
    return F.col(name).cast("string").cast("binary")
