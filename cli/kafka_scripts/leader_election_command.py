"""``kafka-leader-election``: elects the leaders of partitions (Kafka: LeaderElectionCommand)."""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ...base.command_parser import BAD_INPUT, CommandError
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode
from ...protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from .json_input import array_in, field_of, number_in, object_in, parsed_json, read_text, text_in
from .kafka_errors import check_code, in_java_words
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import ScriptParser, UsageError, is_given

__all__ = ["leader_election_command"]

_ABOUT = (
    "This tool attempts to elect a new leader for a set of topic partitions. The type of elections supported are "
    "preferred replicas and unclean replicas."
)
_TYPES = {"PREFERRED": 0, "UNCLEAN": 1}
_WHERE = ("topic", "all-topic-partitions", "path-to-json-file")
_TIMEOUT_MS = 30_000


def leader_election_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
    except UsageError as error:
        return parser.refuse(error)
    try:
        _check(options)
        partitions = _partitions(options)
        with script_cluster(options) as cluster:
            _elect(cluster, options.election_type.upper(), partitions)
    except CLUSTER_ERRORS as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-leader-election", _ABOUT)
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The servers to connect to.")
    add(
        "--admin.config",
        dest="command_config",
        metavar="FILE",
        type=Path,
        help="Property file containing configs of the admin client.",
    )
    add("--election-type", metavar="TYPE", type=_election_type, help="REQUIRED: preferred or unclean.")
    add("--topic", metavar="TOPIC", help="The topic; with --partition.")
    add("--partition", metavar="N", type=int, help="The partition of --topic.")
    add("--all-topic-partitions", action="store_true", help="All partitions for which an election makes sense.")
    add(
        "--path-to-json-file",
        metavar="FILE",
        help='A file with partitions: {"partitions": [{"topic": "foo", "partition": 1}]}.',
    )
    return parser


def _election_type(text: str) -> str:
    if text.upper() not in _TYPES:
        raise ValueError(text)
    return text


def _check(options: argparse.Namespace) -> None:
    """Raises CommandError, as Kafka checks the options."""
    missing = [name for name in ("bootstrap-server", "election-type") if not is_given(options, name)]
    if missing:
        raise CommandError(f"Missing required option(s): {', '.join(missing)}", BAD_INPUT)
    if sum(is_given(options, name) for name in _WHERE) != 1:
        raise CommandError(f"One and only one of the following options is required: {', '.join(_WHERE)}", BAD_INPUT)
    if is_given(options, "topic") and not is_given(options, "partition"):
        raise CommandError("Missing required option(s): partition", BAD_INPUT)
    if is_given(options, "partition") and not is_given(options, "topic"):
        raise CommandError("Option partition is only allowed if topic is used", BAD_INPUT)


def _partitions(options: argparse.Namespace) -> list[TopicPartition] | None:
    """The partitions that the options name; None: all. Raises CommandError."""
    if options.all_topic_partitions:
        return None
    if options.topic is not None:
        return [TopicPartition(options.topic, options.partition)]
    text = read_text(options.path_to_json_file)
    try:
        document = object_in(parsed_json(text))
    except CommandError:
        raise CommandError("Replica election data is empty", BAD_INPUT) from None
    if "partitions" not in document:
        raise CommandError('Replica election data is missing "partitions" field', BAD_INPUT)
    found = [
        TopicPartition(text_in(field_of(row, "topic")), number_in(field_of(row, "partition")))
        for row in map(object_in, array_in(document["partitions"]))
    ]
    if twice := [str(at) for at, count in Counter(found).items() if count > 1]:
        raise CommandError(f"Replica election data contains duplicate partitions: [{', '.join(twice)}]", BAD_INPUT)
    return found


def _elect(cluster: AdminCluster, election_type: str, partitions: list[TopicPartition] | None) -> None:
    wanted: dict[str, list[int]] = {}
    for at in partitions or ():
        wanted.setdefault(at.topic, []).append(at.partition)
    request = ElectLeadersRequest(
        election_type=_TYPES[election_type],
        topic_partitions=None
        if partitions is None
        else [TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in wanted.items()],
        timeout_ms=_TIMEOUT_MS,
    )
    response = cluster.retried(lambda: cluster.ask_controller(request))
    check_code(response.error_code, None)
    elected, valid, failed = [], [], {}
    for topic in response.replica_election_results:
        for result in topic.partition_result:
            at = TopicPartition(topic.topic, result.partition_id)
            if result.error_code == ErrorCode.ELECTION_NOT_NEEDED:
                valid.append(at)
            elif result.error_code:
                failed[at] = in_java_words(result.error_code, result.error_message)
            else:
                elected.append(at)
    if elected:
        sys.stdout.write(
            f"Successfully completed leader election ({election_type}) for partitions {_joined(elected)}\n"
        )
    if valid:
        sys.stdout.write(f"Valid replica already elected for partitions {_joined(valid)}\n")
    for at, reason in sorted(failed.items()):
        sys.stdout.write(f"Error completing leader election ({election_type}) for partition: {at}: {reason}\n")
    if failed:
        raise CommandError(f"{len(failed)} replica(s) could not be elected")


def _joined(partitions: list[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(partitions)))
