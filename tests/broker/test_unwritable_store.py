"""A single broker whose disk is full answers requests that need the metadata store at once.

The broker would wait for an hour for topics and producer ids, so a request that waits for them fails the test.
"""

import asyncio
import errno
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.broker.environment import Environment
from pybroker.broker.metadata.address import local_address
from pybroker.broker.server import BrokerServer
from pybroker.config.load import load_config
from pybroker.controller import metadata_plane
from pybroker.controller.tree.embedded_database import EmbeddedDatabase
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.load.request_of_each_api import plain_request
from support.logs.storage_faults import FaultyFiles

HOUR_MS = 3_600_000
FIND_COORDINATOR = plain_request(ApiKey.FIND_COORDINATOR, key="group")
NEW_TOPIC = {"name": "new", "num_partitions": 1, "replication_factor": 1}
REQUESTS = {
    "FindCoordinator": (FIND_COORDINATOR, 2, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    "FindCoordinator, several groups": (
        plain_request(ApiKey.FIND_COORDINATOR, coordinator_keys=["a", "b"]),
        4,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ),
    "Metadata": (
        plain_request(ApiKey.METADATA, topics=[{"name": "a"}, {"name": "b"}], allow_auto_topic_creation=True),
        9,
        ErrorCode.LEADER_NOT_AVAILABLE,
    ),
    "InitProducerId": (
        plain_request(ApiKey.INIT_PRODUCER_ID, transactional_id=None, transaction_timeout_ms=60_000),
        4,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ),
    "CreateTopics": (
        plain_request(ApiKey.CREATE_TOPICS, topics=[NEW_TOPIC], timeout_ms=HOUR_MS),
        5,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ),
    "CreatePartitions": (
        plain_request(
            ApiKey.CREATE_PARTITIONS, topics=[{"name": "old", "count": 4, "assignments": None}], timeout_ms=HOUR_MS
        ),
        3,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ),
    "DeleteTopics": (
        plain_request(ApiKey.DELETE_TOPICS, topic_names=["old"], timeout_ms=HOUR_MS),
        5,
        ErrorCode.KAFKA_STORAGE_ERROR,
    ),
}


def full_disk(*_: object) -> None:
    error = sqlite3.OperationalError("database or disk is full")
    error.sqlite_errorname = "SQLITE_FULL"
    raise error


@pytest.fixture
def files() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
async def client(tmp_path: Path, files: FaultyFiles, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[WireClient]:
    """A client of a broker that has the topic ``old`` and no internal topic."""
    monkeypatch.setattr(metadata_plane, "_PATIENCE_OF_A_SINGLE_BROKER_MS", HOUR_MS)
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path / "log"),
        "metadata.store.path": str(tmp_path / "store"),
    }
    server = BrokerServer(load_config("", settings), Environment(files=files))
    await server.start()
    with WireClient(str(local_address(server.endpoints[0].host, server.endpoints[0].port))) as client:
        old = plain_request(ApiKey.CREATE_TOPICS, topics=[NEW_TOPIC | {"name": "old"}], timeout_ms=HOUR_MS)
        assert not (await asyncio.to_thread(client.ask, old, 5)).topics[0].error_code
        yield client
    monkeypatch.undo()
    files.fault = None
    await server.stop()


@pytest.mark.parametrize("name", REQUESTS)
async def test_no_request_waits_on_a_single_broker_whose_metadata_store_cannot_be_written(
    client: WireClient, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    request, version, code = REQUESTS[name]
    monkeypatch.setattr(EmbeddedDatabase, "_write_rows", full_disk)
    for _ in range(2):
        assert f"error_code={code.value}" in str(await asyncio.to_thread(client.ask, request, version))


async def test_find_coordinator_does_not_wait_on_a_single_broker_whose_log_directory_is_full(
    client: WireClient, files: FaultyFiles
) -> None:
    """The topic is created, and its leader is known, but its log cannot be."""
    files.fault = errno.ENOSPC
    await asyncio.to_thread(client.ask, FIND_COORDINATOR, 2)
