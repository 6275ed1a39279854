"""Writes golden/newest.jsonl.gz: frames in versions that Kafka 3.9 does not have, printed by the classes of Kafka 4.2.

The values are those of the last version that 3.9 has, with the fields that later versions add. Run it with `tests` on
Python's path.
"""

import gzip
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

from pybroker.base.uuid_text import uuid_text
from support.golden import golden_files, read_lines
from support.processes.java import java_command
from support.processes.kafka_versions import libs_of

Value = dict[str, Any]
FOLDER = Path(__file__).resolve().parent
GOLDEN = FOLDER.parent / "golden"
VERSION = "4.2.0"


def main() -> None:
    wanted = [
        json.dumps(renamed(line, NEW_NAMES)) for api, changes in CHANGES.items() for line in lines_of(api, changes)
    ]
    command = java_command(str(FOLDER / "NewestFrames.java"), libs=libs_of(VERSION))
    printed = subprocess.run(command, input="\n".join(wanted), capture_output=True, check=True, text=True).stdout
    with gzip.GzipFile(GOLDEN / "newest.jsonl.gz", "wb", mtime=0) as file:
        for text in printed.splitlines():
            line = renamed(json.loads(text), OLD_NAMES)
            file.write(f"{json.dumps(line, separators=(',', ':'), ensure_ascii=False)}\n".encode())


NEW_NAMES = {
    "ListClientMetricsResources": (
        "ListConfigResources",
        {"clientMetricsResources": "configResources", "name": "resourceName"},
    )
}
"""APIs and fields that Kafka 4.1 calls otherwise. The frames have the names of Kafka 3.9."""
OLD_NAMES = {new: (old, {new: old for old, new in fields.items()}) for old, (new, fields) in NEW_NAMES.items()}


def renamed(line: dict[str, Any], names: dict[str, tuple[str, dict[str, str]]]) -> dict[str, Any]:
    api, fields = names.get(line["api"], (line["api"], {}))
    return {**line, "api": api, "value": _renamed_fields(line["value"], fields)}


def _renamed_fields(value: Any, names: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_renamed_fields(each, names) for each in value]
    if isinstance(value, dict):
        return {names.get(name, name): _renamed_fields(each, names) for name, each in value.items()}
    return value


def lines_of(api: str, changes: "Changes") -> list[dict[str, Any]]:
    """The lines of the versions in ``changes``, from those of the last one that Kafka 3.9 has."""
    (path,) = [path for path in golden_files(GOLDEN) if path.name.endswith(f"-{api}.jsonl.gz")]
    lines = [line for line in read_lines(path) if not line.get("unknownTags")]
    last = max(line["version"] for line in lines)
    found = []
    for version, change in changes.items():
        for line in lines:
            if line["version"] == last:
                value = json.loads(json.dumps(line["value"]))
                change(value, line["kind"])
                found.append({**line, "version": version, "value": value, "hex": ""})
    return found


Changes = dict[int, Callable[[Value, str], None]]


def unchanged(value: Value, kind: str) -> None:
    """The fields are those of the version before."""


def with_topic_ids(name_of_list: str) -> Callable[[Value, str], None]:
    """Give the topics in a list, of the message or of its groups, ids in place of names."""

    def change(value: Value, kind: str) -> None:
        for holder in value.get("groups", [value]):
            for number, topic in enumerate(holder.get(name_of_list) or ()):
                del topic["name"]
                topic["topicId"] = uuid_text(UUID(int=number * 2**100 + 7))

    return change


def with_field(name: str, new_value: Any, name_of_list: str | None = None, kind_of_frame: str = "response") -> Any:
    """Add a field to the message, or to each element of a list, of one kind of frame."""

    def change(value: Value, kind: str) -> None:
        if kind == kind_of_frame:
            for holder in [value] if name_of_list is None else value[name_of_list]:
                holder[name] = new_value

    return change


def both(*changes: Callable[[Value, str], None]) -> Callable[[Value, str], None]:
    def change(value: Value, kind: str) -> None:
        for each in changes:
            each(value, kind)

    return change


def produced(value: Value, kind: str) -> None:
    with_topic_ids("topicData" if kind == "request" else "responses")(value, kind)


def with_member_types(value: Value, kind: str) -> None:
    for group in value["groups"] if kind == "response" else ():
        for number, member in enumerate(group["members"]):
            member["memberType"] = number % 2


def without_results(value: Value, kind: str) -> None:
    value.pop("results", None)


def fetched_by_share_group(value: Value, kind: str) -> None:
    if kind == "response":
        value["acquisitionLockTimeoutMs"] = 30_000
        for topic in value["responses"]:
            for partition in topic["partitions"]:
                partition["records"] = partition["records"] or ""
        return
    value.update(maxRecords=500, batchSize=100)
    for topic in value["topics"]:
        for partition in topic["partitions"]:
            del partition["partitionMaxBytes"]


def fetched_in_a_mode(value: Value, kind: str) -> None:
    fetched_by_share_group(value, kind)
    if kind == "request":
        value.update(shareAcquireMode=1, isRenewAck=True)


def with_completed_deliveries(value: Value, kind: str) -> None:
    for topic in value.get("topics", ()) if kind == "request" else value["results"]:
        for number, partition in enumerate(topic["partitions"]):
            if "startOffset" in partition:
                partition["deliveryCompleteCount"] = 70_000 + number
                if kind == "response":
                    partition["leaderEpoch"] = number


NO_FACTOR_CHANGE = ("allowReplicationFactorChange", False, None)
CHANGES: dict[str, Changes] = {
    "Produce": {13: produced},
    "Fetch": {18: unchanged},
    "ListOffsets": {11: with_field("timeoutMs", 70_000, kind_of_frame="request")},
    "Metadata": {13: with_field("errorCode", 129)},
    "OffsetCommit": {10: with_topic_ids("topics")},
    "OffsetFetch": {10: with_topic_ids("topics")},
    "DescribeGroups": {6: with_field("errorMessage", "Group λ not found.", "groups")},
    "AlterPartitionReassignments": {
        1: both(with_field(*NO_FACTOR_CHANGE), with_field(*NO_FACTOR_CHANGE, kind_of_frame="request"))
    },
    "UpdateFeatures": {2: without_results},
    "ConsumerGroupHeartbeat": {1: with_field("subscribedTopicRegex", "λ.*|b", kind_of_frame="request")},
    "ConsumerGroupDescribe": {1: with_member_types},
    "WriteShareGroupState": {1: with_completed_deliveries},
    "ReadShareGroupStateSummary": {1: with_completed_deliveries},
    "ShareFetch": {1: fetched_by_share_group, 2: fetched_in_a_mode},
    "ShareAcknowledge": {
        1: unchanged,
        2: both(with_field("isRenewAck", True, None, "request"), with_field("acquisitionLockTimeoutMs", 30_000)),
    },
    "ListClientMetricsResources": {
        1: both(
            with_field("resourceTypes", [32, 16], kind_of_frame="request"),
            with_field("resourceType", 32, "clientMetricsResources"),
        )
    },
    "DescribeCluster": {
        2: both(with_field("isFenced", True, "brokers"), with_field("includeFencedBrokers", True, None, "request"))
    },
}


if __name__ == "__main__":
    main()
