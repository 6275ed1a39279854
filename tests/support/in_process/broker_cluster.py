"""Brokers of one cluster on the running loop: real sockets, files and threads, and a ZooKeeper in memory."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.environment import Environment, wall_clock_ms
from pybroker.broker.server import BrokerServer
from pybroker.config.config import Config
from pybroker.config.load import unchecked_config
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataResponsePartition
from pybroker.protocol.messages.metadata import MetadataRequestTopic as AskedTopic
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.replication.partition.hosted_partition import HostedPartition
from pybroker.storage.files.files import Files
from simulation.machines.model_zookeeper import ModelStore, ModelZooKeeper
from support.clients.async_wire_client import AsyncWireClient
from support.in_process.replicas import batch_of, offsets_and_values

__all__ = ["BrokerCluster", "until"]

LOOKS = 12_000

SETTINGS = {
    "zookeeper.connect": "model:2181",
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "replica.fetch.backoff.ms": "20",
    "num.io.threads": "2",
    "log.retention.ms": "-1",  # records written by tests have old timestamps
    "controlled.shutdown.retry.backoff.ms": "20",
}


async def until(condition: Callable[[], object], what: str) -> None:
    """Check a condition a fixed number of times: on a busy machine both the checks and the condition take longer."""
    for _ in range(LOOKS):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{what}: not after {LOOKS} looks")


class BrokerCluster:
    def __init__(self, directory: Path, settings: Mapping[str, str] | None = None) -> None:
        self.zookeeper = ModelZooKeeper(asyncio.get_running_loop(), Random(7), wall_clock_ms)
        self.servers: dict[int, BrokerServer] = {}
        self.directory = directory
        self.files: dict[int, Files] = {}
        """The file systems of brokers that get one of the test."""
        self._settings = {**SETTINGS, **(settings or {})}
        self._ports: dict[int, int] = {}
        self._stores: dict[int, ModelStore] = {}
        self._clients: dict[int, AsyncWireClient] = {}

    def __getitem__(self, broker_id: int) -> BrokerServer:
        return self.servers[broker_id]

    async def start(self, *broker_ids: int, **settings: str) -> None:
        for broker_id in broker_ids:
            config = unchecked_config(
                "",
                {
                    **self._settings,
                    "broker.id": str(broker_id),
                    "log.dirs": str(self.directory / str(broker_id)),
                    "listeners": f"PLAINTEXT://127.0.0.1:{self._ports.get(broker_id, 0)}",
                    **{name.replace("_", "."): value for name, value in settings.items()},
                },
            )

            async def open_store(_config: Config, _clock: Callable[[], int], broker_id: int = broker_id) -> Any:
                store = self._stores[broker_id] = await self.zookeeper.open(f"broker {broker_id}")
                return store

            server = BrokerServer(
                config, Environment(open_store=open_store, files=self.files.get(broker_id) or Files())
            )
            await server.start()
            self.servers[broker_id] = server
            self._ports[broker_id] = server.endpoints[0].port

    async def stop(self, broker_id: int) -> None:
        self._hang_up(broker_id)
        server = self.servers.pop(broker_id)
        await server.stop()
        await server.settle()

    async def kill(self, broker_id: int) -> None:
        """Kill a broker. Its session expires later, or at once when the test calls `expire`."""
        self._hang_up(broker_id)
        server = self.servers.pop(broker_id)
        server.kill()
        await server.settle()

    def expire(self, broker_id: int) -> None:
        """End the session of a killed broker before its timeout."""
        self.zookeeper.expire(self._stores.pop(broker_id).session_id)

    async def close(self) -> None:
        for broker_id in sorted(self.servers, reverse=True):
            failed = self.servers[broker_id].failed
            assert not failed.done(), failed.result()
            await self.kill(broker_id)

    def hang_up(self) -> None:
        """Close the test's connections; the next requests open new ones."""
        for broker_id in list(self._clients):
            self._hang_up(broker_id)

    def _hang_up(self, broker_id: int) -> None:
        client = self._clients.pop(broker_id, None)
        if client is not None:
            client.close()

    # -- queries

    async def ask(self, broker_id: int, request: Message, version: int) -> Any:
        client = self._clients.get(broker_id)
        if client is None:
            client = self._clients[broker_id] = await AsyncWireClient.connect(f"127.0.0.1:{self._ports[broker_id]}")
        return await client.ask(request, version)

    async def create_topic(self, name: str, *assignments: list[int], **configs: str) -> None:
        """Create a topic with one partition for each list of brokers."""
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
                for number, brokers in enumerate(assignments)
            ],
            configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=30_000)
        answer = await self.ask(self.controller_id, request, 7)
        assert answer.topics[0].error_code == ErrorCode.NONE, answer

    async def delete_topic(self, name: str) -> None:
        request = DeleteTopicsRequest(topic_names=[name], timeout_ms=30_000)
        answer = await self.ask(self.controller_id, request, 5)
        assert answer.responses[0].error_code == ErrorCode.NONE, answer

    async def produce(
        self, broker_id: int, partition: TopicPartition, *values: bytes, acks: int = -1, timeout_ms: int = 30_000
    ) -> tuple[ErrorCode, int]:
        """Returns (error, base offset)."""
        data = PartitionProduceData(index=partition.partition, records=batch_of(*values))
        request = ProduceRequest(
            acks=acks,
            timeout_ms=timeout_ms,
            topic_data=[TopicProduceData(name=partition.topic, partition_data=[data])],
        )
        answer = await self.ask(broker_id, request, 9)
        outcome = answer.responses[0].partition_responses[0]
        return ErrorCode(outcome.error_code), outcome.base_offset

    async def metadata_of(self, broker_id: int, partition: TopicPartition) -> MetadataResponsePartition:
        answer = await self.ask(broker_id, MetadataRequest(topics=[AskedTopic(name=partition.topic)]), 12)
        partitions: list[MetadataResponsePartition] = answer.topics[0].partitions
        return next(each for each in partitions if each.partition_index == partition.partition)

    # -- internal state

    @property
    def controller_id(self) -> int:
        return next(broker_id for broker_id, server in self.servers.items() if server._metadata.controller.is_active)

    def hosted(self, broker_id: int, partition: TopicPartition) -> HostedPartition:
        hosted = self.servers[broker_id]._partitions.get(partition)
        assert hosted is not None
        return hosted

    def follows(self, broker_id: int, partition: TopicPartition) -> bool:
        """Whether the broker was told to fetch this partition."""
        links = self.servers[broker_id]._links
        return links is not None and partition in links.fetchers

    def leader_of(self, partition: TopicPartition) -> int | None:
        """The broker that acts as leader now."""
        for broker_id, server in self.servers.items():
            if server._partitions.is_leader(partition):
                return broker_id
        return None

    def isr_of(self, partition: TopicPartition) -> set[int]:
        """The ISR known to the leader; empty without a leader."""
        leader_id = self.leader_of(partition)
        if leader_id is None:
            return set()
        leader = self.hosted(leader_id, partition).partition.leader
        return set() if leader is None else set(leader.isr.members)

    async def values(self, broker_id: int, partition: TopicPartition) -> list[bytes | None]:
        """The values of all records in the broker's log."""
        batches = self.servers[broker_id]._partitions.read_all(partition, 1 << 20)
        return [value for _, value in offsets_and_values(b"".join([bytes(each) async for each in batches]))]

    def offsets(self, broker_id: int, partition: TopicPartition) -> tuple[int, int]:
        """(high watermark, log end offset); -1 if the broker does not host the partition yet."""
        hosted = self.servers[broker_id]._partitions.get(partition)
        if hosted is None:
            return -1, -1
        return hosted.partition.high_watermark, hosted.log.log_end_offset
