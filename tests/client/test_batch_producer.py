"""Sending batches when responses get lost and leaders refuse."""

from collections.abc import Callable
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.client.admin_cluster import AdminCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.connection import Connection
from pybroker.client.fetching.partition_reader import PartitionReader
from pybroker.client.given_options import GivenOptions
from pybroker.client.producing.batch_producer import BatchProducer
from pybroker.client.producing.identity import ProducerIdentity
from pybroker.client.target_cluster import TargetCluster
from pybroker.protocol.errors import ErrorCode, KafkaError
from pybroker.protocol.messages.produce import ProduceResponse
from pybroker.protocol.records.record import read_records

NOW_MS = 4_000_000_000_000
"""Brokers forget producers of old records, and could not tell a batch that is sent again."""
Trouble = Callable[[Connection, Any], Any]
"""Gets a connection and its response to Produce; returns what the client sees, or raises."""


def values_written(servers: str, topic: str, trouble: Trouble, monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Writes 0 … 19 in batches of one record; the third response meets the trouble. Returns what the topic has."""
    settings = take_client_settings(GivenOptions({"bootstrap.servers": servers}), "test")
    with TargetCluster(settings) as maker:
        maker.make_partitions({topic: 1})
    at, seen = TopicPartition(topic, 0), 0
    receive = Connection.receive

    def troubled(connection: Connection) -> Any:
        nonlocal seen
        answer = receive(connection)
        if isinstance(answer, ProduceResponse):
            seen += 1
            return trouble(connection, answer) if seen == 3 else answer
        return answer

    monkeypatch.setattr(Connection, "receive", troubled)
    acknowledged: list[tuple[int, int]] = []
    with AdminCluster(settings) as cluster:
        producer = BatchProducer(
            cluster,
            lambda _, first, count: acknowledged.append((first, count)),
            identity=ProducerIdentity(cluster, None),
        )
        for number in range(20):
            producer.send_values(at, [b"%d" % number], NOW_MS)
        producer.flush()
        assert sum(count for _, count in acknowledged) == 20
        reader = PartitionReader(cluster, {at: 0}, {at: cluster.offsets({at: -1})[at]}, print)
        found = [batch for batches in reader.batches() for batch in batches.batches]
    return [record.value or b"" for batch in found for record in read_records(batch)]


def lost(connection: Connection, _: Any) -> Any:
    connection.close()
    raise ConnectionError("the connection broke")


def refused(code: ErrorCode) -> Trouble:
    def change(_: Connection, answer: Any) -> Any:
        answer.responses[0].partition_responses[0].error_code = code
        return answer

    return change


@pytest.mark.parametrize("trouble", [lost, refused(ErrorCode.NOT_LEADER_OR_FOLLOWER)], ids=["lost", "refused"])
def test_each_value_is_written_once_in_order(
    servers: str, topic: str, trouble: Trouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert values_written(servers, topic, trouble, monkeypatch) == [b"%d" % number for number in range(20)]


def test_error_that_does_not_pass_is_raised(servers: str, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KafkaError, match=f"{topic}-0: "):
        values_written(servers, topic, refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED), monkeypatch)
