"""Topics on a full disk refuse records, and are served again as soon as there is space."""

import asyncio
import errno
from pathlib import Path

from pybroker.broker.environment import Environment
from pybroker.broker.metadata.address import local_address
from pybroker.broker.server import BrokerServer
from pybroker.config.load import load_config
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of
from support.logs.storage_faults import FaultyFiles


def creation_of(topic: str, timeout_ms: int) -> CreateTopicsRequest:
    new = CreatableTopic(name=topic, num_partitions=2, replication_factor=1)
    return CreateTopicsRequest(topics=[new], timeout_ms=timeout_ms)


def record_for(topic: str) -> ProduceRequest:
    data = PartitionProduceData(index=1, records=batch_of(b"value"))
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


def server_on(directory: Path, files: FaultyFiles) -> BrokerServer:
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(directory / "full"),
        "metadata.store.path": str(directory / "store"),
    }
    return BrokerServer(load_config("", settings), Environment(files=files))


def client_of(server: BrokerServer) -> WireClient:
    return WireClient(str(local_address(server.endpoints[0].host, server.endpoints[0].port)))


async def produced(client: WireClient, topic: str) -> ErrorCode:
    """The error code of a produce, once the partition has a leader."""
    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    while code == ErrorCode.NOT_LEADER_OR_FOLLOWER:  # as a producer does
        answer = await asyncio.to_thread(client.ask, record_for(topic), 9)
        code = ErrorCode(answer.responses[0].partition_responses[0].error_code)
    return code


async def test_log_that_could_not_open_on_a_full_disk_is_served_when_there_is_space(tmp_path: Path) -> None:
    files = FaultyFiles()
    server = server_on(tmp_path, files)
    await server.start()
    with client_of(server) as client:
        await asyncio.to_thread(client.ask, creation_of("topic", 60_000), 7)
        assert await produced(client, "topic") == ErrorCode.NONE
    await server.stop()
    for path in (tmp_path / "full" / "topic-1").glob("0*"):
        path.unlink()
    files.fault = errno.ENOSPC
    server = server_on(tmp_path, files)
    await server.start()
    with client_of(server) as client:
        answer = await asyncio.to_thread(client.ask, record_for("topic"), 9)
        assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        files.fault = None
        assert await produced(client, "topic") == ErrorCode.NONE
    await server.stop()


async def test_topic_created_on_a_full_disk_is_served_when_there_is_space(tmp_path: Path) -> None:
    files = FaultyFiles()
    server = server_on(tmp_path, files)
    await server.start()
    with client_of(server) as client:

        def code_of(request: CreateTopicsRequest) -> int:
            return int(client.ask(request, 7).topics[0].error_code)

        files.fault = errno.ENOSPC
        assert await asyncio.to_thread(code_of, creation_of("early", 600_000)) == ErrorCode.NONE
        files.fault = None
        assert await produced(client, "early") == ErrorCode.NONE
    await server.stop()
