"""Writes golden/share-groups.jsonl.gz: frames of the APIs about share groups, printed by the classes of Kafka 4.2.

Run it with `tests` on Python's path.
"""

import gzip
import json
import subprocess
from collections.abc import Iterator
from typing import Any

from pybroker.protocol.apis import ApiKey
from reference.releases.make_newest_frames import FOLDER, GOLDEN, VERSION, lines_of, unchanged
from support.processes.java import java_command
from support.processes.kafka_versions import libs_of

FILE = GOLDEN / "share-groups.jsonl.gz"
TOPIC_ID = "AAAAAAAAAAAAAAAAAAAABw"


def main() -> None:
    lines = [line for api in ("ShareGroupHeartbeat", "ShareGroupDescribe") for line in lines_of(api, {1: unchanged})]
    text = "\n".join(map(json.dumps, [*lines, *new_lines()]))
    command = java_command(str(FOLDER / "NewestFrames.java"), libs=libs_of(VERSION))
    printed = subprocess.run(command, input=text, capture_output=True, check=True, text=True).stdout
    with gzip.GzipFile(FILE, "wb", mtime=0) as file:
        file.write(printed.encode())


def new_lines() -> Iterator[dict[str, Any]]:
    """The lines of APIs that Kafka 3.9 does not have."""
    for (key, api, kind, version), value in values():
        line = {"api": api, "key": int(key), "kind": kind, "version": version, "variant": "typical", "hex": ""}
        yield {**line, "value": value}


def values() -> Iterator[tuple[tuple[ApiKey, str, str, int], dict[str, Any]]]:
    topics = [{"topicName": "λ", "partitions": [0, 7]}, {"topicName": "", "partitions": []}]
    groups = [{"groupId": "g", "topics": topics}, {"groupId": "all", "topics": None}]
    for version in (0, 1):
        describe = (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, "DescribeShareGroupOffsets")
        yield (*describe, "request", version), {"groups": groups}
        yield (*describe, "response", version), described(version)
    alter = (ApiKey.ALTER_SHARE_GROUP_OFFSETS, "AlterShareGroupOffsets")
    altered = [{"partitionIndex": 3, "startOffset": 5_000_000_000}]
    yield (*alter, "request", 0), {"groupId": "g", "topics": [{"topicName": "λ", "partitions": altered}]}
    yield (*alter, "response", 0), answered({"partitions": [{"partitionIndex": 3, **error(None)}]})
    delete = (ApiKey.DELETE_SHARE_GROUP_OFFSETS, "DeleteShareGroupOffsets")
    yield (*delete, "request", 0), {"groupId": "g", "topics": [{"topicName": "λ"}]}
    yield (*delete, "response", 0), answered(error("Nothing to delete."))


def described(version: int) -> dict[str, Any]:
    partition = {"partitionIndex": 7, "startOffset": 5_000_000_000, "leaderEpoch": 4, **error(None)}
    partition |= {"lag": 12} if version else {}
    topic = {"topicName": "λ", "topicId": TOPIC_ID, "partitions": [partition]}
    groups = [{"groupId": "g", "topics": [topic], **error(None)}, {"groupId": "no", "topics": [], **error("No such.")}]
    return {"throttleTimeMs": 30, "groups": groups}


def answered(topic: dict[str, Any]) -> dict[str, Any]:
    named = {"topicName": "λ", "topicId": TOPIC_ID, **topic}
    return {"throttleTimeMs": 30, **error("Partly."), "responses": [named]}


def error(message: str | None) -> dict[str, Any]:
    return {"errorCode": 0 if message is None else 69, "errorMessage": message}


if __name__ == "__main__":
    main()
