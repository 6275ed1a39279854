"""Partitions, and an offset or timestamp for each partition, as JSON in the form of Spark's Kafka source.

{"events":[0,1]}                      partitions
{"events":{"0":23,"1":-1}}            an offset or timestamp for each partition; -1 is latest, -2 earliest
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...base.topic_partition import TopicPartition
from ...client.given_options import OptionError

PartitionNumbers = dict[TopicPartition, int]
"""An offset or timestamp for each partition."""


def parse_partitions(option: str, text: str) -> tuple[TopicPartition, ...]:
    """Parses a JSON object of partitions. Raises OptionError, which names the option."""
    found = []
    for topic, partitions in _object(option, text, '{"events":[0,1]}').items():
        if not isinstance(partitions, list) or not all(_is_index(partition) for partition in partitions):
            raise OptionError(f"Option '{option}': partitions of '{topic}' must be a list of numbers, not {partitions}")
        found += [TopicPartition(topic, partition) for partition in partitions]
    if not found:
        raise OptionError(f"Option '{option}' names no partition: {text}")
    return tuple(sorted(set(found)))


def parse_numbers(option: str, text: str) -> PartitionNumbers:
    """Parses a JSON object of numbers by partition. Raises OptionError, which names the option."""
    found: PartitionNumbers = {}
    for topic, numbers in _object(option, text, '{"events":{"0":23,"1":-1}}').items():
        if not isinstance(numbers, dict):
            raise OptionError(f"Option '{option}': '{topic}' must have a number for each partition, not {numbers}")
        for partition, number in numbers.items():
            if not partition.isascii() or not partition.isdigit() or type(number) is not int:
                raise OptionError(f"Option '{option}': '{topic}' can't have {partition!r}: {number}")
            found[TopicPartition(topic, int(partition))] = number
    return found


def numbers_by_topic(numbers: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    """Returns numbers in the form that `parse_numbers` reads, sorted by partition."""
    result: dict[str, dict[str, int]] = {}
    for topic_partition in sorted(numbers):
        result.setdefault(topic_partition.topic, {})[str(topic_partition.partition)] = numbers[topic_partition]
    return result


def numbers_from_topics(by_topic: Mapping[str, Mapping[str, int]]) -> PartitionNumbers:
    """The inverse of `numbers_by_topic`, for our own output; input is not checked."""
    return {
        TopicPartition(topic, int(partition)): number
        for topic, numbers in by_topic.items()
        for partition, number in numbers.items()
    }


def _object(option: str, text: str, example: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = None
    if not isinstance(value, dict):
        raise OptionError(f"Option '{option}' must be like {example}, not {text}")
    return value


def _is_index(value: object) -> bool:
    return type(value) is int and value >= 0
