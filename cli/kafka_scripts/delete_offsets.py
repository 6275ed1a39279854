"""``kafka-consumer-groups --delete-offsets``: deletes committed offsets of a group (OffsetDelete)."""

import argparse
import re
import sys

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode
from ...protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from .kafka_errors import in_java_words, java_message

__all__ = ["delete_offsets"]

_NUMBERS = re.compile(r"\d{1,9}(,\d{1,9})*")
_NO_PARTITION = -1
_REASONS = {
    ErrorCode.INVALID_GROUP_ID: "'{}' is not valid.",
    ErrorCode.GROUP_ID_NOT_FOUND: "'{}' does not exist.",
    ErrorCode.GROUP_AUTHORIZATION_FAILED: "Access to '{}' is not authorized.",
    ErrorCode.NON_EMPTY_GROUP: "Deleting offsets of a consumer group '{}' is forbidden if the group is not empty.",
}
_SOME_FAILED = "Encounter some partition level error, see the follow-up details:"


def delete_offsets(cluster: AdminCluster, options: argparse.Namespace, name: str) -> None:
    """Delete the offsets of the topics and partitions that ``--topic`` names, and print the result of each."""
    codes = dict.fromkeys(_places(cluster, options.topic), int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    topics: dict[str, list[OffsetDeleteRequestPartition]] = {}
    for at in codes:
        if at.partition != _NO_PARTITION:
            topics.setdefault(at.topic, []).append(OffsetDeleteRequestPartition(partition_index=at.partition))
    asked = [OffsetDeleteRequestTopic(name=topic, partitions=partitions) for topic, partitions in topics.items()]
    request = OffsetDeleteRequest(group_id=name, topics=asked)
    answer = cluster.retried(lambda: cluster.ask_coordinator(name, request))
    if answer.error_code:
        codes = {at: code if at.partition == _NO_PARTITION else answer.error_code for at, code in codes.items()}
    for topic in answer.topics:
        for each in topic.partitions:
            codes[TopicPartition(topic.name, each.partition_index)] = each.error_code
    _tell(name, options.topic, answer.error_code, has_failed=any(codes.values()))
    sys.stdout.write("\n{:<30} {:<15} {:<15}".format("TOPIC", "PARTITION", "STATUS"))  # Kafka 3.9 ends no line
    for at, code in sorted(codes.items()):
        number = "Not Provided" if at.partition == _NO_PARTITION else str(at.partition)
        status = f"Error: :{in_java_words(code, None)}" if code else "Successful"
        sys.stdout.write(f"{at.topic:<30} {number:<15} {status:<15}")


def _tell(name: str, topics: list[str], code: int, *, has_failed: bool) -> None:
    if code:
        known = _REASONS.get(ErrorCode(code))
        said = f"Encounter some unknown error: {java_message(code, None)}" if known is None else known.format(name)
        sys.stdout.write(f"\nError: {said}\n")
    elif has_failed:
        sys.stdout.write(f"\nError: {_SOME_FAILED}\n")
    else:
        sys.stdout.write(f"Request succeed for deleting offsets with topic {', '.join(topics)} group {name}\n")


def _places(cluster: AdminCluster, texts: list[str]) -> list[TopicPartition]:
    """The partitions of ``topic`` and ``topic:0,1``. A topic that does not exist has one without a number."""
    found: list[TopicPartition] = []
    for text in texts:
        topic, colon, numbers = text.partition(":")
        if colon and not _NUMBERS.fullmatch(numbers):
            raise CommandError(f"--topic {text} must be TOPIC or TOPIC:0,1", BAD_INPUT)
        if colon:
            found += [TopicPartition(topic, int(number)) for number in numbers.split(",")]
        else:
            (there,) = cluster.metadata([topic]).topics
            found += [TopicPartition(topic, each.partition_index) for each in there.partitions]
            found += [] if there.partitions else [TopicPartition(topic, _NO_PARTITION)]
    return sorted(set(found))
