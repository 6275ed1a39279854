"""``kafka-delete-records``: deletes the records below an offset of each partition (Kafka: DeleteRecordsCommand)."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from .json_input import array_in, field_of, number_in, object_in, parsed_json, read_text, text_in
from .kafka_errors import check_code
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import ScriptParser, UsageError, check_required

__all__ = ["delete_records_command"]

_ABOUT = "This tool helps to delete records of the given partitions down to the specified offset."
_TIMEOUT_MS = 60_000


def delete_records_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        check_required(options, ["bootstrap-server", "offset-json-file"])
    except UsageError as error:
        return parser.refuse(error)
    try:
        offsets = _offsets(parsed_json(read_text(options.offset_json_file)))
        with script_cluster(options) as cluster:
            _delete(cluster, offsets)
    except CLUSTER_ERRORS as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-delete-records", _ABOUT)
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The server to connect to.")
    add(
        "--offset-json-file",
        metavar="FILE",
        help='REQUIRED: As {"partitions": [{"topic": "foo", "partition": 1, "offset": 1}], "version": 1}.',
    )
    add("--command-config", metavar="FILE", type=Path, help="Property file containing configs of the admin client.")
    return parser


def _offsets(document: Any) -> dict[TopicPartition, int]:
    """The new first offset of each partition; -1 is the end. Raises CommandError."""
    fields = object_in(document)
    version = number_in(fields.get("version", 1))
    if version != 1:
        raise CommandError(f"Not supported version field value {version}", BAD_INPUT)
    if "partitions" not in fields:
        raise CommandError("Missing partitions field", BAD_INPUT)
    rows = [
        (
            TopicPartition(text_in(field_of(row, "topic")), number_in(field_of(row, "partition"))),
            number_in(field_of(row, "offset"), is_long=True),
        )
        for row in map(object_in, array_in(fields["partitions"]))
    ]
    twice = [str(at) for at, count in Counter(at for at, _ in rows).items() if count > 1]
    if twice:
        raise CommandError(f"Offset json file contains duplicate topic partitions: {','.join(twice)}", BAD_INPUT)
    return dict(rows)


def _delete(cluster: AdminCluster, offsets: dict[TopicPartition, int]) -> None:
    sys.stdout.write("Executing records delete operation\nRecords delete operation completed:\n")
    for at, offset in offsets.items():
        sys.stdout.write(f"partition: {at}\t{_outcome(cluster, at, offset)}\n")


def _outcome(cluster: AdminCluster, at: TopicPartition, offset: int) -> str:
    def ask() -> int:
        asked = [DeleteRecordsPartition(partition_index=at.partition, offset=offset)]
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name=at.topic, partitions=asked)], timeout_ms=_TIMEOUT_MS
        )
        (topic,) = cluster.leader_connection(at).ask(request).topics
        (result,) = topic.partitions
        if result.error_code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
            cluster.forget_leader(at)
        check_code(result.error_code, None)
        return int(result.low_watermark)

    try:
        return f"low_watermark: {cluster.retried(ask)}"
    except KafkaError as error:
        return f"error: {error}"
