"""A share group of a cluster (KIP-932) loses nothing when a broker that leads its partitions and states is killed."""

import subprocess
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import Queue
from threading import Thread

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from pybroker import Cluster
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from support.clients.config_requests import SET, Change, Resource, alter
from support.clients.feature_levels import raise_level
from support.clients.wire_client import WireClient
from support.processes.java import java_command
from support.processes.kafka_versions import libs_of

CONSOLE = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,share",
    "offsets.topic.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
STATES = "__share_group_state"
GROUP_RESOURCE = 32
PARTITIONS = 3
RECORDS = 30
_PATIENCE_S = 120.0


def produce(servers: str, values: range) -> None:
    producer = Producer({"bootstrap.servers": servers})
    for value in values:
        producer.produce("orders", str(value).encode(), partition=value % PARTITIONS)
    assert producer.flush() == 0


def read(stdout: Iterable[str], lines: "Queue[str]") -> None:
    for line in stdout:
        lines.put(line.strip())


@contextmanager
def share_consumer(servers: str) -> Iterator["Queue[str]"]:
    """The values of the records that a member of group "g" gets; it accepts each."""
    arguments = ("--bootstrap-server", servers, "--topic", "orders", "--group", "g")
    command = java_command(CONSOLE, *arguments, libs=libs_of("4.2.0"))
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines: Queue[str] = Queue()
        reader = Thread(target=read, args=(process.stdout, lines))
        reader.start()
        try:
            yield lines
        finally:
            process.kill()
            reader.join()


def take(lines: "Queue[str]", values: range) -> None:
    """Wait until each of the values came."""
    missing = {str(value) for value in values}
    while missing:
        missing.discard(lines.get(timeout=_PATIENCE_S))


def lags_of(cluster: BlockingCluster) -> list[int]:
    """The records of each partition that the group has not accepted; empty while its coordinator cannot be asked."""
    asked = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)
    for broker_id in cluster.broker_ids:
        if cluster.is_running(broker_id):
            with WireClient(cluster.bootstrap_server(broker_id)) as client:
                (group,) = client.ask(DescribeShareGroupOffsetsRequest(groups=[asked]), 1).groups
            if not group.error_code:
                return [each.lag for topic in group.topics for each in topic.partitions]
    return []


def wait_until_all_accepted(cluster: BlockingCluster) -> None:
    deadline = time.monotonic() + _PATIENCE_S
    while (lags := lags_of(cluster)) != [0] * PARTITIONS:
        assert time.monotonic() < deadline, lags


def test_each_record_is_accepted_though_a_leader_that_stores_the_states_is_killed() -> None:
    with Cluster(3, SETTINGS) as cluster:
        with WireClient(cluster.bootstrap_servers.split(",")[0]) as client:
            refused = client.ask(ShareGroupHeartbeatRequest(group_id="g", member_id="m"), 1)
        assert refused.error_code == ErrorCode.UNSUPPORTED_VERSION
        raise_level(cluster.bootstrap_servers, "share.version")
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap_servers})
        admin.create_topics([NewTopic("orders", PARTITIONS, 3)])["orders"].result()
        with WireClient(cluster.bootstrap_servers.split(",")[0]) as client:
            change = Change("share.auto.offset.reset", SET, "earliest")
            (changed,) = client.ask(alter((Resource(GROUP_RESOURCE, "g"), [change])), 1).responses
        assert changed.error_code == ErrorCode.NONE

        produce(cluster.bootstrap_servers, range(RECORDS))
        with share_consumer(cluster.bootstrap_servers) as lines:
            take(lines, range(RECORDS))
            wait_until_all_accepted(cluster)
            partition = admin.list_topics(STATES).topics[STATES].partitions[0]
            assert len(partition.replicas) == 3
            leaders = {each.leader for each in admin.list_topics("orders").topics["orders"].partitions.values()}
            assert partition.leader in leaders

            cluster.kill(partition.leader)
            produce(cluster.bootstrap_servers, range(RECORDS, 2 * RECORDS))
            take(lines, range(RECORDS, 2 * RECORDS))
            wait_until_all_accepted(cluster)
