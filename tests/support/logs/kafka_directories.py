"""Data directories written by Kafka brokers, with dumps by Kafka's classes, and a broker on a copy of them."""

import asyncio
import base64
import gzip
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pybroker.controller.tree.embedded_store import EmbeddedStore
from support.processes.broker_process import BrokerProcess

__all__ = ["LOGDIRS", "Found", "batches", "broker_on", "committed", "records"]

LOGDIRS = Path(__file__).parents[2] / "reference" / "logdirs"
ABORT = 0


def tree_of(name: str) -> dict[str, bytes]:
    """The metadata that the directory needs, as if its broker had always been alone."""
    found: dict[str, bytes] = {}
    for line in (LOGDIRS / name / "znodes.jsonl").read_text().splitlines():
        node = json.loads(line)
        path, data = node["path"], node["data"] or ""
        if node["ephemeral"] or path == "/":
            continue
        if path.endswith("/state"):
            data = json.dumps({**json.loads(data), "leader": 0, "isr": [0]})
        elif path.startswith("/brokers/topics/") and path.count("/") == 3:
            topic = json.loads(data)
            data = json.dumps({**topic, "partitions": {number: [0] for number in topic["partitions"]}})
        found[path] = data.encode()
    return found


async def write_tree(file: Path, tree: dict[str, bytes]) -> None:
    store = await EmbeddedStore.open(file, lambda: 0)
    for path in sorted(tree):
        await store.create(path, tree[path])
    await store.close()


def broker_on(
    name: str, directory: Path, settings: Mapping[str, str] | None = None, without: str = "no topic"
) -> BrokerProcess:
    """A broker on a copy of one of Kafka's directories, without one of the topics.

    The open transaction in the directory stays open, although its time-out has passed, unless `settings` say otherwise.
    """
    topic = shutil.ignore_patterns(f"{without}-*")
    shutil.copytree(LOGDIRS / name / "data", directory / "data", ignore=topic)
    metadata = directory / "metadata.db"
    tree = {path: data for path, data in tree_of(name).items() if without not in path.split("/")}
    asyncio.run(write_tree(metadata, tree))
    values = {
        "broker.id": "0",
        "metadata.store.path": str(metadata),
        "log.retention.ms": "-1",
        "log.cleaner.enable": "false",
        "offsets.topic.num.partitions": "2",
        "transaction.state.log.num.partitions": "2",
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": "86400000",
        **(settings or {}),
    }
    return BrokerProcess(directory, values)


def batches(name: str, topic: str) -> list[dict[str, Any]]:
    with gzip.open(LOGDIRS / name / "batches.jsonl.gz", "rt") as lines:
        found = [json.loads(line) for line in lines]
    return [batch for batch in found if batch["file"].startswith(f"{topic}-0/")]


Found = list[tuple[int, bytes | None]]


def records(name: str, topic: str) -> Found:
    """(offset, value) of all records except control records, from the dump of Kafka's own classes."""
    return [record for batch in batches(name, topic) if not batch.get("isControlBatch") for record in values(batch)]


def values(batch: dict[str, Any]) -> Found:
    return [
        (record["offset"], None if record["value"] is None else base64.b64decode(record["value"]))
        for record in batch["records"]
    ]


def committed(name: str, topic: str) -> tuple[Found, int]:
    """The records a read_committed consumer sees, and the last stable offset."""
    found: Found = []
    pending: dict[int, Found] = {}
    end = 0
    for batch in batches(name, topic):
        end = batch["nextOffset"]
        producer = batch["producerId"]
        if batch["isControlBatch"]:
            kind = int.from_bytes(base64.b64decode(batch["records"][0]["key"])[2:4], "big")
            ended = pending.pop(producer, [])
            found += [] if kind == ABORT else ended
        elif batch["isTransactional"]:
            pending.setdefault(producer, []).extend(values(batch))
        else:
            found += values(batch)
    stable = min([end, *(offsets[0][0] for offsets in pending.values())])
    return sorted(record for record in found if record[0] < stable), stable
