"""Where a query begins or ends: an end of the log, offsets, or timestamps."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...base.topic_partition import TopicPartition
from ...client.given_options import OptionError
from ...protocol.sentinels import EARLIEST, LATEST
from .options import Options
from .partition_json import PartitionNumbers, parse_numbers


@dataclass(frozen=True, slots=True)
class EndOfLog:
    """EARLIEST or LATEST of each partition."""

    offset: int


@dataclass(frozen=True, slots=True)
class SpecificOffsets:
    """An offset for each partition; EARLIEST and LATEST are allowed."""

    option: str
    offsets: PartitionNumbers


@dataclass(frozen=True, slots=True)
class SpecificTimestamps:
    """The first record at or after a timestamp (ms) for each partition."""

    option: str
    timestamps: PartitionNumbers
    latest_when_none: bool


@dataclass(frozen=True, slots=True)
class GlobalTimestamp:
    """The first record at or after one timestamp (ms) for all partitions."""

    option: str
    timestamp: int
    latest_when_none: bool


OffsetLimit = EndOfLog | SpecificOffsets | SpecificTimestamps | GlobalTimestamp

STARTING = ("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets")
ENDING = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
STRATEGY = "startingOffsetsByTimestampStrategy"


def starting_limit(options: Options, default: int) -> OffsetLimit:
    """Returns the start of a query. Raises OptionError."""
    return _limit(options, STARTING, default, latest_when_none=_latest_when_none(options))


def ending_limit(options: Options) -> OffsetLimit:
    """Returns the end of a query, latest by default. A timestamp behind the last record means latest. Raises
    OptionError.
    """
    return _limit(options, ENDING, LATEST, latest_when_none=True)


def check_batch_limits(start: OffsetLimit, end: OffsetLimit) -> None:
    """Checks that a batch query begins before it ends. Raises OptionError."""
    if start == EndOfLog(LATEST):
        raise OptionError("Option 'startingOffsets' can't be latest in a batch query")
    if end == EndOfLog(EARLIEST):
        raise OptionError("Option 'endingOffsets' can't be earliest in a batch query")
    if isinstance(start, SpecificOffsets):
        _refuse(start, LATEST, "latest")
    if isinstance(end, SpecificOffsets):
        _refuse(end, EARLIEST, "earliest")
    if isinstance(start, SpecificOffsets) and isinstance(end, SpecificOffsets):
        _check_order(start.option, start.offsets, end.option, end.offsets)
    if isinstance(start, SpecificTimestamps) and isinstance(end, SpecificTimestamps):
        _check_order(start.option, start.timestamps, end.option, end.timestamps)
    if isinstance(start, GlobalTimestamp) and isinstance(end, GlobalTimestamp) and start.timestamp > end.timestamp:
        raise OptionError(f"Option '{start.option}' {start.timestamp} is after '{end.option}' {end.timestamp}")


def _limit(options: Options, names: tuple[str, str, str], default: int, *, latest_when_none: bool) -> OffsetLimit:
    by_global, by_partition, by_offset = names
    name = options.at_most_one(names)
    if name is None:
        return EndOfLog(default)
    text = options.text(name) or ""
    if name == by_global:
        return GlobalTimestamp(name, options.not_negative(by_global, 0), latest_when_none)
    if name == by_partition:
        timestamps = parse_numbers(name, text)
        for topic_partition, timestamp in timestamps.items():
            if timestamp < 0:  # brokers would take it for a place in the log, such as its end
                raise OptionError(f"Option '{name}': {topic_partition} has the negative timestamp {timestamp}")
        return SpecificTimestamps(name, timestamps, latest_when_none)
    if text.lower() == "earliest":
        return EndOfLog(EARLIEST)
    if text.lower() == "latest":
        return EndOfLog(LATEST)
    offsets = parse_numbers(by_offset, text)
    for topic_partition, offset in offsets.items():
        if offset < EARLIEST:
            raise OptionError(f"Option '{name}': {topic_partition} has the invalid offset {offset}")
    return SpecificOffsets(name, offsets)


def _latest_when_none(options: Options) -> bool:
    text = options.text(STRATEGY)
    if text is None:
        return False
    if text.lower() not in ("error", "latest"):
        raise OptionError(f"Option '{STRATEGY}' must be error or latest, not '{text}'")
    return text.lower() == "latest"


def _refuse(limit: SpecificOffsets, offset: int, word: str) -> None:
    for topic_partition, given in limit.offsets.items():
        if given == offset:
            raise OptionError(f"Option '{limit.option}' of {topic_partition} can't be {word} in a batch query")


def _check_order(
    starting: str, starts: Mapping[TopicPartition, int], ending: str, ends: Mapping[TopicPartition, int]
) -> None:
    if starts.keys() != ends.keys():
        only = ", ".join(map(str, sorted(starts.keys() ^ ends.keys())))
        raise OptionError(
            f"Options '{starting}' and '{ending}' must name the same partitions; only one of them names {only}"
        )
    for topic_partition, start in starts.items():
        end = ends[topic_partition]
        # EARLIEST and LATEST are negative; their offsets are unknown yet.
        if start >= 0 and end >= 0 and start > end:
            raise OptionError(f"Options '{starting}' and '{ending}': {topic_partition} begins at {start}, after {end}")
