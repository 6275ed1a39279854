"""``kafka-log-dirs``: the log directories of brokers and their replicas, as JSON (Kafka: LogDirsCommand)."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...base.command_parser import BAD_INPUT, CommandError
from ...client.admin_cluster import AdminCluster
from ...protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from .kafka_errors import check_code, java_name
from .script_cluster import CLUSTER_ERRORS, script_cluster
from .script_parser import ScriptParser, UsageError, check_required

__all__ = ["log_dirs_command"]

_ABOUT = "This tool helps to query log directory usage on the specified brokers."


def log_dirs_command(arguments: Sequence[str]) -> int:
    """The script; returns its exit code."""
    parser = _parser()
    try:
        options = parser.parsed(arguments)
        if options is None:
            return 0
        check_required(options, ["bootstrap-server"])
        if not options.describe:
            raise UsageError('Missing required argument "[describe]"')
    except UsageError as error:
        return parser.refuse(error)
    try:
        with script_cluster(options) as cluster:
            _describe(cluster, options)
    except CLUSTER_ERRORS as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


def _parser() -> ScriptParser:
    parser = ScriptParser("kafka-log-dirs", _ABOUT)
    add = parser.add_argument
    add("--bootstrap-server", metavar="SERVERS", help="REQUIRED: The servers to connect to.")
    add("--command-config", metavar="FILE", type=Path, help="Property file containing configs of the admin client.")
    add("--describe", action="store_true", help="REQUIRED: Describe the log directories of brokers.")
    add("--topic-list", metavar="TOPICS", default="", help="Only these topics: topic1,topic2 (all).")
    add("--broker-list", metavar="IDS", default="", help="Only these brokers: 0,1,2 (all).")
    return parser


def _describe(cluster: AdminCluster, options: argparse.Namespace) -> None:
    topics = {name for name in options.topic_list.split(",") if name}
    wanted = _ids(options.broker_list)
    there = sorted(broker.node_id for broker in cluster.retried(cluster.metadata).brokers)
    if missing := [broker for broker in wanted if broker not in there]:
        raise CommandError(
            f"ERROR: The given brokers do not exist from --broker-list: {_joined(missing)}. "
            f"Current existent brokers: {_joined(there)}",
            BAD_INPUT,
        )
    chosen = wanted or there
    sys.stdout.write("Querying brokers for log directories information\n")
    answers = cluster.ask_brokers(dict.fromkeys(chosen, DescribeLogDirsRequest(topics=None)))
    brokers = [{"broker": broker, "logDirs": _directories(answers[broker], topics)} for broker in chosen]
    document = json.dumps({"brokers": brokers, "version": 1}, separators=(",", ":"), ensure_ascii=False)
    sys.stdout.write(f"Received log directory information from brokers {_joined(chosen)}\n{document}\n")


def _directories(answer: Any, topics: set[str]) -> list[dict[str, Any]]:
    check_code(answer.error_code, None)
    return [
        {
            "partitions": [
                {
                    "partition": f"{topic.name}-{each.partition_index}",
                    "size": each.partition_size,
                    "offsetLag": each.offset_lag,
                    "isFuture": each.is_future_key,
                }
                for topic in sorted(found.topics, key=lambda topic: topic.name)
                if not topics or topic.name in topics
                for each in sorted(topic.partitions, key=lambda each: each.partition_index)
            ],
            "error": java_name(found.error_code) if found.error_code else None,
            "logDir": found.log_dir,
        }
        for found in answer.results
    ]


def _ids(text: str) -> list[int]:
    found = set()
    for part in text.split(","):
        try:
            found |= {int(part)} if part else set()
        except ValueError:
            raise CommandError(f'For input string: "{part}"', BAD_INPUT) from None
    return sorted(found)


def _joined(ids: Sequence[int]) -> str:
    return ",".join(map(str, ids))
