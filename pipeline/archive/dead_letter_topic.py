"""Sends records whose values can't be decoded to a topic, with headers that say where they are from.

They are sent before their micro-batch is committed to the table, in one transaction that names the micro-batch. So
readers of committed records see each once, also if Spark repeats the micro-batch (topics/task_transaction.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 (as everybody calls it)

from ...client.given_options import OptionError
from ..columns.row_ddl import HEADERS_DDL
from ..options.options import Options
from ..options.read_options import KNOWN
from ..options.subscription import reads_topic, subscription_of
from .archive_rows import DEAD_LETTERS, TABLE

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

__all__ = ["DeadLetterTopic"]

_COLUMNS = f"key binary, value binary, partition int, offset bigint, error string, topic string{HEADERS_DDL}"
_HEADERS_TYPE = HEADERS_DDL.partition("headers ")[2]
_SENT = ("topic", "partition", "offset", "error")
_PREFIX = "dead-letter."
_CONNECTION = ("kafka.bootstrap.servers", "kafka.client.id", "kafka.security.", "kafka.ssl.", "kafka.sasl.")
_PATIENCE = "kafka.socket.connection.setup.timeout.ms"
"""Brokers may restart while the job runs."""
_TRANSACTIONS = "pybroker-archive"
"""Prefix of the transactional ids; the query's id follows."""


class DeadLetterTopic:
    """A topic in the cluster of the source."""

    def __init__(self, spark: SparkSession, source: Mapping[str, str], topic: str) -> None:
        """`source`: options of the source. Raises OptionError if the job reads that topic, because it would send its
        own dead letters again.
        """
        if reads_topic(subscription_of(Options(source, KNOWN)), topic):
            raise OptionError(f"the job reads the topic {topic}, so it can't be the topic of dead letters")
        self._spark = spark
        self._options = {name: text for name, text in source.items() if name.startswith(_CONNECTION)}
        self._options |= {"topic": topic, "kafka.transactional.id": _TRANSACTIONS, _PATIENCE: "60000"}

    def send(self, staged: str) -> None:
        """Sends the dead letters among the staged files of a micro-batch: in one task and in one order, because a
        repeated micro-batch has other files.
        """
        place = f"{staged}/{TABLE}={DEAD_LETTERS}"
        rows = self._spark.read.schema(_COLUMNS).option("basePath", place).parquet(place)
        rows = rows.coalesce(1).sortWithinPartitions("topic", "partition", "offset")
        sent = rows.select("key", "value", _headers().alias("headers"))
        sent.write.format("pybroker").mode("append").options(**self._options).save()


def _headers() -> Column:
    """Returns the record's headers, and those that say where it is from."""
    empty = F.array().cast(_HEADERS_TYPE)
    added = F.array(*(F.struct(F.lit(_PREFIX + name).alias("key"), _text(name).alias("value")) for name in _SENT))
    return F.concat(F.coalesce(F.col("headers"), empty), added.cast(_HEADERS_TYPE))


def _text(name: str) -> Column:
    return F.col(name).cast("string").cast("binary")
