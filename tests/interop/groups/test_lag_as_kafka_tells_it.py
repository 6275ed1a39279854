"""The lag that the broker tells is that of Kafka's `kafka-consumer-groups --describe`."""

import asyncio
from pathlib import Path

from confluent_kafka import Consumer, Producer, TopicPartition
from pybroker.broker.environment import Environment
from pybroker.broker.server import BrokerServer
from pybroker.config.load import load_config
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.topics import create_topic

Row = tuple[str, str, int, int, int, int]
"""Group, topic, partition, committed offset, end, lag."""


def fill(servers: str) -> None:
    """Two topics with committed, aborted and open transactions, and groups behind in different ways."""
    for topic in ("orders", "bills"):
        create_topic(servers, topic, 2)
    plain = Producer({"bootstrap.servers": servers})
    for number in range(50):
        plain.produce("orders", b"x", partition=number % 2)
    plain.flush()
    for name, is_commit in (("first", True), ("second", False)):
        producer = Producer({"bootstrap.servers": servers, "transactional.id": name})
        producer.init_transactions()
        producer.begin_transaction()
        producer.produce("bills", b"x", partition=0)
        producer.flush()
        if is_commit:
            producer.commit_transaction()
        else:
            producer.abort_transaction()
    open_one = Producer({"bootstrap.servers": servers, "transactional.id": "open"})
    open_one.init_transactions()
    open_one.begin_transaction()
    open_one.produce("bills", b"x", partition=1)
    open_one.flush()
    for group, offsets in {
        "behind": {("orders", 0): 3, ("orders", 1): 0, ("bills", 0): 1, ("bills", 1): 0},
        "at the end": {("orders", 0): 25, ("orders", 1): 25},
    }.items():
        consumer = Consumer({"bootstrap.servers": servers, "group.id": group})
        consumer.commit(
            offsets=[TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()],
            asynchronous=False,
        )
        consumer.close()


def described(servers: str) -> set[Row]:
    """The rows of the tool that have a committed offset."""
    command = f"{TOOLS}.consumer.group.ConsumerGroupCommand"
    text = run_tool(command, "--bootstrap-server", servers, "--describe", "--all-groups", "--timeout", "60000")
    rows = set()
    for line in text.splitlines():
        cells = line.replace("at the end", "at_the_end").split()
        if len(cells) >= 6 and cells[3].isdecimal():
            rows.add((cells[0].replace("_", " "), cells[1], *map(int, cells[2:6])))
    return rows  # type: ignore[return-value]


async def test_lag_is_what_kafka_consumer_groups_prints(tmp_path: Path) -> None:
    server = BrokerServer(
        load_config(
            "",
            {
                "log.dirs": str(tmp_path),
                "listeners": "PLAINTEXT://127.0.0.1:0",
                "offsets.topic.num.partitions": "2",
                "transaction.state.log.num.partitions": "2",
                "group.initial.rebalance.delay.ms": "0",
            },
        ),
        Environment(),
    )
    await server.start()
    try:
        servers = f"127.0.0.1:{server.endpoints[0].port}"
        await asyncio.to_thread(fill, servers)
        rows = await asyncio.to_thread(described, servers)
        lags = server.observability.lags
        assert lags is not None
        ours = {
            (lag.group_id, *each.topic_partition, each.committed, each.end, each.lag)
            for lag in map(lags.of, lags.groups())
            for each in lag.partitions
        }
    finally:
        await server.stop()
        await server.settle()
    assert len(ours) == 6
    assert ours == rows
