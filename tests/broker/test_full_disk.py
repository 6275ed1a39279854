"""A disk that is full keeps topics from being produced to, until there is room: no longer, and nobody is told else."""

import asyncio
import errno
from pathlib import Path

from pybroker.broker.address import local_address
from pybroker.broker.environment import Environment
from pybroker.broker.server import BrokerServer
from pybroker.config.config import Config
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.replicas import batch_of
from support.storage_faults import FaultyFiles
from support.wire_client import WireClient


def creation_of(topic: str, timeout_ms: int) -> CreateTopicsRequest:
    new = CreatableTopic(name=topic, num_partitions=2, replication_factor=1)
    return CreateTopicsRequest(topics=[new], timeout_ms=timeout_ms)


def record_for(topic: str) -> ProduceRequest:
    data = PartitionProduceData(index=1, records=batch_of(b"value"))
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])


async def test_a_topic_without_room_is_created_late_and_then_alive(tmp_path: Path) -> None:
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": str(tmp_path / "full"),
        "metadata.store.path": str(tmp_path / "store"),
    }
    files = FaultyFiles()
    server = BrokerServer(Config.load("", settings), Environment(files=files))
    await server.start()
    address = str(local_address(server.endpoints[0].host, server.endpoints[0].port))
    with WireClient(address) as client:

        def code_of(request: CreateTopicsRequest) -> int:
            return int(client.ask(request, 7).topics[0].error_code)

        files.fault = errno.ENOSPC
        assert await asyncio.to_thread(code_of, creation_of("early", 100)) == ErrorCode.REQUEST_TIMED_OUT
        waiting = asyncio.create_task(asyncio.to_thread(code_of, creation_of("patient", 600_000)))
        files.fault = None
        assert await waiting == ErrorCode.NONE
        codes = [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        while codes[-1] == ErrorCode.NOT_LEADER_OR_FOLLOWER:  # as a producer does
            answer = await asyncio.to_thread(client.ask, record_for("early"), 9)
            codes.append(answer.responses[0].partition_responses[0].error_code)
        assert codes[-1] == ErrorCode.NONE
    await server.stop()
