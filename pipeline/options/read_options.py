"""Options for reading topics: those of Spark's Kafka source, and `commitOffsetsToGroup`."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...client.given_options import OptionError
from ...protocol.sentinels import EARLIEST, LATEST
from .kafka_settings import ReaderSettings, reader_settings
from .offset_limits import (
    ENDING,
    STARTING,
    STRATEGY,
    GlobalTimestamp,
    OffsetLimit,
    SpecificTimestamps,
    check_batch_limits,
    ending_limit,
    starting_limit,
)
from .options import Options
from .subscription import SUBSCRIPTIONS, Subscription, subscription_of

logger = logging.getLogger(__name__)

INCLUDE_HEADERS = "includeHeaders"

_LIMITS = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay")
_STREAM_ONLY = (*_LIMITS, "commitOffsetsToGroup", "endAtLatest")
KNOWN = (
    *SUBSCRIPTIONS,
    *STARTING,
    *ENDING,
    STRATEGY,
    *_STREAM_ONLY,
    INCLUDE_HEADERS,
    "failOnDataLoss",
    "minPartitions",
    "maxRecordsPerPartition",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
    "kafkaConsumer.pollTimeoutMs",
    "groupIdPrefix",
)

_DURATION = re.compile(r"^(\d+)\s*(us|ms|s|m|min|h|d)?$")
_MINUTE_US = 60_000_000
_UNIT_US = {
    "us": 1,
    "ms": 1000,
    None: 1000,
    "s": 1_000_000,
    "m": _MINUTE_US,
    "min": _MINUTE_US,
    "h": 60 * _MINUTE_US,
    "d": 24 * 60 * _MINUTE_US,
}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Checked options of a query.

    Attributes:
        max_records: maximum number of offsets in a task (maxRecordsPerPartition).
        max_offsets, min_offsets: limits of a micro-batch; `max_delay_ms` is how long to wait for `min_offsets`.
        no_progress_ms: how long a task waits for records that should exist (kafkaConsumer.pollTimeoutMs).
        commit_group: the consumer group that stores the end of each finished micro-batch.
        is_bounded: the query reads nothing behind the offsets that are the latest at its start (endAtLatest).
    """

    settings: ReaderSettings
    subscription: Subscription
    starting: OffsetLimit
    ending: OffsetLimit
    include_headers: bool
    fail_on_data_loss: bool
    min_partitions: int | None
    max_records: int | None
    max_offsets: int | None
    min_offsets: int | None
    max_delay_ms: int
    fetch_retries: int
    fetch_retry_ms: int
    no_progress_ms: int
    commit_group: str | None
    is_bounded: bool


def batch_options(given: Mapping[str, str]) -> ReadOptions:
    """Checks the options of a batch query. Raises OptionError."""
    options = Options(given, KNOWN)
    for name in options.given(_STREAM_ONLY):
        logger.warning("Option '%s' has no effect on a batch query", name)
    read = _read_options(options, default_start=EARLIEST)
    check_batch_limits(read.starting, read.ending)
    return read


def stream_options(given: Mapping[str, str]) -> ReadOptions:
    """Checks the options of a streaming query. Raises OptionError."""
    options = Options(given, KNOWN)
    for name in options.given(ENDING):
        raise OptionError(f"Option '{name}' is not valid in a streaming query, which has no end")
    return _read_options(options, default_start=LATEST)


def includes_headers(given: Mapping[str, str]) -> bool:
    """Returns whether rows have a column of headers; checks no other option. Raises OptionError."""
    headers = {name: value for name, value in given.items() if name.lower() == INCLUDE_HEADERS.lower()}
    return Options(headers, [INCLUDE_HEADERS]).boolean(INCLUDE_HEADERS, default=False)


def _read_options(options: Options, default_start: int) -> ReadOptions:
    if "groupIdPrefix" in options:
        logger.warning("Option 'groupIdPrefix' has no effect: the readers of this source join no group")
    max_offsets, min_offsets = options.positive("maxOffsetsPerTrigger"), options.positive("minOffsetsPerTrigger")
    if max_offsets is not None and min_offsets is not None and min_offsets > max_offsets:
        raise OptionError(f"Options: 'minOffsetsPerTrigger' {min_offsets} > 'maxOffsetsPerTrigger' {max_offsets}")
    starting = starting_limit(options, default_start)
    if STRATEGY in options and not isinstance(starting, SpecificTimestamps | GlobalTimestamp):
        logger.warning("Option '%s' has no effect without a timestamp to start at", STRATEGY)
    group = options.text("commitOffsetsToGroup")
    if group == "":
        raise OptionError("Option 'commitOffsetsToGroup' must name a consumer group")
    subscription = subscription_of(options)
    if subscription is None:
        listed = ", ".join(f"'{each}'" for each in SUBSCRIPTIONS)
        raise OptionError(f"One of the options {listed} must be given")
    return ReadOptions(
        settings=reader_settings(options.kafka),
        subscription=subscription,
        starting=starting,
        ending=ending_limit(options),
        include_headers=options.boolean(INCLUDE_HEADERS, default=False),
        fail_on_data_loss=options.boolean("failOnDataLoss", default=True),
        min_partitions=options.positive("minPartitions"),
        max_records=options.positive("maxRecordsPerPartition"),
        max_offsets=max_offsets,
        min_offsets=min_offsets,
        max_delay_ms=_duration_ms(options.text("maxTriggerDelay") or "15m"),
        fetch_retries=options.not_negative("fetchOffset.numRetries", 3),
        fetch_retry_ms=options.not_negative("fetchOffset.retryIntervalMs", 1000),
        no_progress_ms=options.positive("kafkaConsumer.pollTimeoutMs") or 120_000,
        commit_group=group,
        is_bounded=options.boolean("endAtLatest", default=False),
    )


def _duration_ms(text: str) -> int:
    match = _DURATION.match(text.lower())
    if match is None:
        raise OptionError(f"Option 'maxTriggerDelay' must be like 30s, 15m or 1h, not '{text}'")
    return int(match[1]) * _UNIT_US[match[2]] // 1000
