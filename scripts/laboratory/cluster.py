"""Three brokers of one kind and a ZooKeeper on the laboratory's network, each broker with small disks."""

import os
import signal
import sys
from pathlib import Path

from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import AS_DEFAULT, KafkaProcess, ZooKeeperProcess
from support.time.deadline import wait_until

from laboratory.network import HOST, Disk, Network

__all__ = ["BROKER_IDS", "KINDS", "PARTITIONS", "TOPIC", "Cluster"]

BROKER_IDS = (1, 2, 3)
KINDS = ("pybroker", "kafka")
TOPIC = "trouble"
PARTITIONS = 9
_DISKS_MIB = 144
"""All disks of a broker together."""
_CLIENTS_PORT = 9092
_INSIDE_PORT = 9093
_SETTINGS = {
    "listener.security.protocol.map": "CLIENTS:PLAINTEXT,INSIDE:PLAINTEXT",
    "inter.broker.listener.name": "INSIDE",
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "9",
    "min.insync.replicas": "2",
    "zookeeper.session.timeout.ms": "6000",
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.enable": "true",
}


class Cluster:
    """A running cluster, with `TOPIC` of `PARTITIONS` partitions and three replicas. Close it at the end.

    Each broker has `disk_count` disks, with a log directory on each.
    """

    def __init__(self, kind: str, directory: Path, network: Network, disk_count: int) -> None:
        self.kind = kind
        self._network = network
        inside = network.address("inside", HOST)
        self.zookeeper = ZooKeeperProcess(directory / "zookeeper", {"clientPortAddress": "0.0.0.0", **AS_DEFAULT})
        self.disks: dict[int, list[Disk]] = {}
        self.brokers: dict[int, BrokerProcess | KafkaProcess] = {}
        for broker_id in BROKER_IDS:
            place = directory / str(broker_id)
            self.disks[broker_id] = [
                Disk(place / f"disk{number}", _DISKS_MIB // disk_count) for number in range(disk_count)
            ]
            listeners = ",".join(
                f"{name}://{network.address(name.lower(), broker_id)}:{port}"
                for name, port in (("CLIENTS", _CLIENTS_PORT), ("INSIDE", _INSIDE_PORT))
            )
            settings = {
                **_SETTINGS,
                "broker.id": str(broker_id),
                "listeners": listeners,
                "log.dirs": ",".join(str(disk.path / "logs") for disk in self.disks[broker_id]),
                "zookeeper.connect": f"{inside}:{self.zookeeper.port}",
            }
            at = network.command_at(broker_id)
            self.brokers[broker_id] = (
                BrokerProcess(place, settings, (*at, sys.executable, "-m", "pybroker"))
                if kind == "pybroker"
                else KafkaProcess(place, self.zookeeper, settings, command_prefix=at)
            )

    def start(self) -> "Cluster":
        self.zookeeper.start()
        for broker_id in BROKER_IDS:
            self.brokers[broker_id].start()
        wait_until(lambda: len(self._metadata().brokers) == len(BROKER_IDS), "all brokers are registered")
        topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=len(BROKER_IDS))
        with WireClient(self._address(self.controller_id())) as client:
            client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=60_000), 5)
        self.wait_until_healthy()
        return self

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.kill()
        self.zookeeper.kill()

    @property
    def servers(self) -> str:
        return ",".join(self._address(broker_id) for broker_id in BROKER_IDS)

    def signal_broker(self, broker_id: int, number: signal.Signals) -> None:
        os.kill(self.brokers[broker_id].pid, number)

    def kill_and_start(self, broker_id: int) -> None:
        """Kills the broker and starts it when its session has ended: Kafka refuses to start before."""
        self.brokers[broker_id].kill()
        other = next(each for each in BROKER_IDS if each != broker_id)
        wait_until(
            lambda: all(each.node_id != broker_id for each in self._metadata(other).brokers),
            f"{self.kind}: broker {broker_id} is not registered",
        )
        self.brokers[broker_id].start()

    def signal_zookeeper(self, number: signal.Signals) -> None:
        os.kill(self.zookeeper.pid, number)

    def controller_id(self) -> int:
        return self._metadata().controller_id

    def leader_of(self, partition: int) -> int:
        return next(
            each.leader_id for each in self._metadata().topics[0].partitions if each.partition_index == partition
        )

    def disk_of(self, broker_id: int, partition: int) -> Disk:
        """Returns the disk with the broker's replica of the partition."""
        return next(disk for disk in self.disks[broker_id] if (disk.path / "logs" / f"{TOPIC}-{partition}").exists())

    def wait_until_healthy(self) -> None:
        """Waits until every broker names a leader and all replicas in sync for each partition."""

        def is_healthy() -> bool:
            for broker_id in BROKER_IDS:
                topics = self._metadata(broker_id).topics
                if not topics or len(topics[0].partitions) != PARTITIONS:
                    return False
                if any(len(each.isr_nodes) < len(BROKER_IDS) or each.leader_id < 0 for each in topics[0].partitions):
                    return False
            return True

        wait_until(is_healthy, f"{self.kind}: all replicas are in sync")

    def elect_preferred(self) -> None:
        """Makes the first replica of each partition lead. All replicas must be in sync."""

        def are_first() -> bool:
            request = ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=10_000)
            with WireClient(self._address(self.controller_id()), timeout_s=20) as client:
                client.ask(request, 2)
            return all(each.leader_id == each.replica_nodes[0] for each in self._metadata().topics[0].partitions)

        wait_until(are_first, f"{self.kind}: preferred replicas lead")

    def wait_for_leaders_without(self, broker_id: int) -> None:
        """Waits until another broker knows leaders of all partitions, none of which is this broker."""
        other = next(each for each in BROKER_IDS if each != broker_id)
        wait_until(
            lambda: all(each.leader_id not in (-1, broker_id) for each in self._metadata(other).topics[0].partitions),
            f"{self.kind}: others lead the partitions of broker {broker_id}",
        )

    def _address(self, broker_id: int) -> str:
        return f"{self._network.address('clients', broker_id)}:{_CLIENTS_PORT}"

    def _metadata(self, *broker_ids: int) -> MetadataResponse:
        """Returns the response of the first of these brokers (default: of all) that answers. Raises OSError."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=TOPIC)], allow_auto_topic_creation=False)
        for broker_id in broker_ids or BROKER_IDS:
            try:
                with WireClient(self._address(broker_id), timeout_s=2) as client:
                    answer: MetadataResponse = client.ask(request, 9)
                    return answer
            except (OSError, AssertionError):
                continue
        raise OSError("no broker answers")
