"""A failed log directory takes only its own partitions offline; the others are served."""

import asyncio
import errno
from pathlib import Path

from pybroker.broker.environment import Environment
from pybroker.broker.metadata.address import local_address
from pybroker.broker.server import BrokerServer
from pybroker.config.load import load_config
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of
from support.logs.storage_faults import FaultyFiles

LOST, KEPT = 0, 1


def record_for(partition: int) -> ProduceRequest:
    data = PartitionProduceData(index=partition, records=batch_of(b"value"))
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name="topic", partition_data=[data])])


async def test_partitions_of_a_failed_directory_have_no_leader_and_the_others_are_served(tmp_path: Path) -> None:
    settings = {
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}",
        "metadata.store.path": str(tmp_path / "store"),
    }
    files = FaultyFiles()
    server = BrokerServer(load_config("", settings), Environment(files=files))
    await server.start()
    address = str(local_address(server.endpoints[0].host, server.endpoints[0].port))
    with WireClient(address) as client:

        async def leaders() -> dict[int, tuple[int, int, list[int]]]:
            request = MetadataRequest(topics=[MetadataRequestTopic(name="topic")])
            answer = await asyncio.to_thread(client.ask, request, 7)
            return {
                each.partition_index: (each.error_code, each.leader_id, each.offline_replicas)
                for each in answer.topics[0].partitions
            }

        async def produce(partition: int) -> int:
            answer = await asyncio.to_thread(client.ask, record_for(partition), 9)
            return int(answer.responses[0].partition_responses[0].error_code)

        new = CreatableTopic(name="topic", num_partitions=2, replication_factor=1)
        created = await asyncio.to_thread(client.ask, CreateTopicsRequest(topics=[new], timeout_ms=60_000), 5)
        assert created.topics[0].error_code == ErrorCode.NONE
        before = await leaders()
        broker_id = before[KEPT][1]
        homes = {
            number: next(path for path in ("a", "b") if (tmp_path / path / f"topic-{number}").is_dir())
            for number in (LOST, KEPT)
        }
        assert set(homes.values()) == {"a", "b"}

        files.fault, files.operations, files.suffixes = errno.EIO, ("write",), (f"topic-{LOST}/{0:020d}.log",)
        assert await produce(LOST) == ErrorCode.KAFKA_STORAGE_ERROR
        files.fault = None
        now = await leaders()
        while now[LOST][1] != -1:
            now = await leaders()
        assert now == {
            LOST: (ErrorCode.LEADER_NOT_AVAILABLE, -1, [broker_id]),
            KEPT: (ErrorCode.NONE, broker_id, []),
        }
        assert await produce(LOST) == ErrorCode.KAFKA_STORAGE_ERROR
        assert await produce(KEPT) == ErrorCode.NONE
        described = await asyncio.to_thread(client.ask, DescribeLogDirsRequest(topics=None), 4)
        codes = {Path(each.log_dir).name: each.error_code for each in described.results}
        assert codes == {homes[LOST]: ErrorCode.KAFKA_STORAGE_ERROR, homes[KEPT]: ErrorCode.NONE}
    assert not server.failed.done()
    await server.stop()
    again = BrokerServer(load_config("", settings))
    await again.start()
    with WireClient(str(local_address(again.endpoints[0].host, again.endpoints[0].port))) as client:
        for partition in (LOST, KEPT):  # the disk was changed: the whole topic has a leader again
            answer = await asyncio.to_thread(client.ask, record_for(partition), 9)
            assert answer.responses[0].partition_responses[0].error_code == ErrorCode.NONE
    await again.stop()
