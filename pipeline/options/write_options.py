"""Options and columns for writing topics: those of Spark's Kafka sink, and the producer's settings.

Records are written by librdkafka. Its settings have the names of Kafka's producer settings; an unknown name is an
error.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...client.given_options import GivenOptions, OptionError
from ...client.tls_settings import TlsSettings, take_tls
from .kafka_settings import OF_JAVA, warn_of_unused_security
from .librdkafka_settings import librdkafka_security, security_of_stores
from .options import KAFKA_PREFIX, Options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

logger = logging.getLogger(__name__)

_TYPES = {
    "topic": ("string",),
    "key": ("string", "binary"),
    "value": ("string", "binary"),
    "headers": ("array<struct<key:string,value:binary>>",),
    "partition": ("int",),
}
"""The columns that are written, and their allowed types. Other columns are ignored, as by Spark's sink."""

_OF_SPARK = ("checkpointLocation", "queryName")
"""Options of a streaming query that Spark also passes to the sink."""

_REFUSED = {
    "key.serializer": "keys are written as bytes",
    "value.serializer": "values are written as bytes",
    "interceptor.classes": "there is no Java client",
    "partitioner.class": "set 'kafka.partitioner' to a partitioner of librdkafka",
    "partitioner.ignore.keys": "set 'kafka.partitioner' to random",
}

_WITHOUT_MEANING = OF_JAVA | {
    "max.block.ms",
    "metadata.max.idle.ms",
    "partitioner.adaptive.partitioning.enable",
    "partitioner.availability.timeout.ms",
}

_CODECS_WITH_LEVELS = ("gzip", "lz4", "zstd")

_DEFAULTS = {
    "acks": "all",
    "enable.idempotence": "true",  # Kafka's default; retries of the producer write no duplicates
    "partitioner": "murmur2_random",  # the partitioner of Kafka's producer, so that a key keeps its partition
    "client.id": "pybroker-spark",
}

_TRANSACTION_DEFAULTS = {
    "transaction.timeout.ms": "300000",  # a task is one transaction; brokers allow 900000 by default
}

_OTHER_NAMES = {
    "max.request.size": "message.max.bytes",
    "receive.buffer.bytes": "socket.receive.buffer.bytes",
    "send.buffer.bytes": "socket.send.buffer.bytes",
}
"""Settings that have another name in librdkafka, except security settings."""


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Checked options. `topic` None: each row has a topic. `columns`: the columns of the data that are written.
    `producer`: settings of librdkafka, except those of Java's stores in `tls`. `transactional_id`: prefix of
    transactional ids; None: no transactions.
    """

    topic: str | None
    columns: tuple[str, ...]
    producer: dict[str, str] = field(repr=False)  # may hold a password
    tls: TlsSettings
    transactional_id: str | None

    def producer_settings(self) -> dict[str, str]:
        """Returns all settings of librdkafka. Reads Java's stores, on the machine of the task. Raises OptionError."""
        return self.producer | security_of_stores(self.tls)


def write_options(given: Mapping[str, str], schema: StructType, *, overwrite: bool) -> WriteOptions:
    """Checks options and columns. Raises OptionError, also for a column that is missing or has a wrong type."""
    if overwrite:
        raise OptionError(
            "Mode 'overwrite' is not supported, because records can only be appended to a topic; use 'append'"
        )
    options = Options(given, ["topic", *_OF_SPARK])
    topic = options.text("topic")
    if topic == "":
        raise OptionError("Option 'topic' is empty")
    tls = take_tls(GivenOptions(options.kafka, KAFKA_PREFIX))
    transactional_id = options.kafka.pop("transactional.id", None)
    if transactional_id == "":
        raise OptionError("Option 'kafka.transactional.id' is empty")
    producer = _producer_settings(options.kafka, in_transactions=transactional_id is not None)
    return WriteOptions(topic, _columns(schema, topic), producer, tls, transactional_id)


def _columns(schema: StructType, topic: str | None) -> tuple[str, ...]:
    types = {field.name: field.dataType.simpleString() for field in schema.fields}
    if "value" not in types:
        raise OptionError("Required column 'value' is missing")
    if topic is None and "topic" not in types:
        raise OptionError("Option 'topic' is required when the data has no column 'topic'")
    for name, allowed in _TYPES.items():
        if name in types and types[name] not in allowed and not (name == "topic" and topic is not None):
            raise OptionError(f"Column '{name}' must be {' or '.join(allowed)}, not {types[name]}")
    return tuple(name for name in _TYPES if name in types)


def _producer_settings(given: Mapping[str, str], *, in_transactions: bool) -> dict[str, str]:
    for name, why in _REFUSED.items():
        if name in given:
            raise OptionError(f"Option 'kafka.{name}' is not supported: {why}")
    if "bootstrap.servers" not in given:
        raise OptionError("Option 'kafka.bootstrap.servers' must be given")
    left = librdkafka_security(given)
    for name in sorted(left.keys() & _WITHOUT_MEANING):
        logger.warning("Option 'kafka.%s' has no effect on this sink", name)
        del left[name]
    warn_of_unused_security(given)
    defaults = _DEFAULTS | (_TRANSACTION_DEFAULTS if in_transactions else {})
    settings = {**defaults, **_take_memory(left), **_take_level(left)}
    settings |= {_OTHER_NAMES.get(name, name): value for name, value in left.items()}
    if in_transactions and (settings["acks"] not in ("all", "-1") or settings["enable.idempotence"] != "true"):
        raise OptionError("Option 'kafka.transactional.id' needs 'kafka.acks' all and 'kafka.enable.idempotence' true")
    if settings["acks"] not in ("all", "-1") and "enable.idempotence" not in given:
        del settings["enable.idempotence"]  # like Kafka's producer, which disables idempotence if only `acks` is set
    return settings


def _take_memory(left: dict[str, str]) -> dict[str, str]:
    """The limit of unsent records: Kafka counts bytes, librdkafka KiB."""
    text = left.pop("buffer.memory", None)
    if text is None:
        return {}
    if not text.strip().isdigit():
        raise OptionError(f"Option 'kafka.buffer.memory' must be a whole number, not '{text}'")
    return {"queue.buffering.max.kbytes": str(max(int(text) // 1024, 1))}


def _take_level(left: dict[str, str]) -> dict[str, str]:
    """The compression level: Kafka has one for each codec, librdkafka a single one."""
    levels = {codec: left.pop(f"compression.{codec}.level", None) for codec in _CODECS_WITH_LEVELS}
    level = levels.get(left.get("compression.type", "none"))
    return {} if level is None else {"compression.level": level}
