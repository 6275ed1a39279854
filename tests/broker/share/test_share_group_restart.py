"""A share group of a running broker: it outlives restarts, need not see the records of aborted transactions, and its
lag is told."""

import asyncio
import json
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

from confluent_kafka import Producer
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.cli.groups.shapes import GroupDescription
from pybroker.cli.top.shapes import TopView
from pybroker.client.asynchronous.cluster import AsyncCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.given_options import GivenOptions
from pybroker.console.cluster_views.group_views import group_detail, group_rows
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from pybroker.protocol.messages.metadata import MetadataRequest
from pybroker.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    AcknowledgePartition,
    AcknowledgeTopic,
    ShareAcknowledgeRequest,
)
from pybroker.protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from support.clients.commands import checked_json
from support.clients.config_requests import SET, Change, Resource, alter
from support.clients.produced import Produced
from support.clients.produced import produce as produce_records
from support.clients.wire_client import WireClient
from support.clients.wire_member import wait_for_coordinator
from support.share_groups.members import acquired_offsets

SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "share.coordinator.state.topic.num.partitions": "1",
}
GROUP_RESOURCE = 32
ACCEPT = 1
MARKERS = {1, 3, 5}
"""The offsets of the ends of the transactions, of which each has one record."""
SESSION_S = 45


class Member:
    """A member of group "g", subscribed to topic "t", whose every step a test takes."""

    def __init__(self, client: WireClient, member_id: str) -> None:
        self._client = client
        self._member_id = member_id
        self._epoch = 0
        self._topic_id = self._joined()

    def _joined(self) -> UUID:
        epoch, assignment = 0, None
        while not (assignment and assignment.topic_partitions):
            request = ShareGroupHeartbeatRequest(group_id="g", member_id=self._member_id, member_epoch=epoch)
            request.subscribed_topic_names = ["t"]
            answer = self._client.ask(request, 1)
            if not answer.error_code:
                epoch, assignment = answer.member_epoch, answer.assignment
        (topic,) = assignment.topic_partitions
        return UUID(int=topic.topic_id.int)

    def offsets(self, count: int) -> list[int]:
        """The offsets of ``count`` records or more that the member gets."""
        found: list[int] = []
        while len(found) < count:
            topic = FetchTopic(topic_id=self._topic_id, partitions=[FetchPartition(partition_index=0)])
            request = ShareFetchRequest(
                group_id="g", member_id=self._member_id, share_session_epoch=self._epoch, topics=[topic]
            )
            request.max_wait_ms, request.min_bytes, request.max_bytes = 500, 1, 1 << 20
            request.max_records = request.batch_size = 500
            answer = self._client.ask(request, 1)
            if not answer.error_code:
                self._epoch += 1
                found += acquired_offsets(answer)
        return found

    def accept(self, offset: int) -> None:
        batch = AcknowledgementBatch(first_offset=offset, last_offset=offset, acknowledge_types=[ACCEPT])
        partition = AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
        request = ShareAcknowledgeRequest(group_id="g", member_id=self._member_id, share_session_epoch=self._epoch)
        request.topics = [AcknowledgeTopic(topic_id=self._topic_id, partitions=[partition])]
        self._epoch += 1
        answer = self._client.ask(request, 1)
        assert (answer.error_code, answer.responses[0].partitions[0].error_code) == (0, 0)


@contextmanager
def member(broker: BlockingBroker, member_id: str) -> Iterator[Member]:
    wait_for_coordinator(broker.bootstrap_servers, "g")
    with WireClient(broker.bootstrap_servers) as client:
        yield Member(client, member_id)


def produce(broker: BlockingBroker, *transactions: tuple[bytes, bool]) -> None:
    """A record in a transaction of its own each, which is committed (True) or aborted."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "id"})
    producer.init_transactions(60)
    for value, is_committed in transactions:
        producer.begin_transaction()
        producer.produce("t", value, partition=0)
        assert producer.flush(60) == 0
        (producer.commit_transaction if is_committed else producer.abort_transaction)(60)


def set_on_group(broker: BlockingBroker, **settings: str) -> None:
    changes = [Change(name.replace("_", "."), SET, value) for name, value in settings.items()]
    with WireClient(broker.bootstrap_servers) as client:
        (response,) = client.ask(alter((Resource(GROUP_RESOURCE, "g"), changes)), 1).responses
    assert response.error_code == 0


def topics_of(broker: BlockingBroker) -> set[str]:
    with WireClient(broker.bootstrap_servers) as client:
        return {each.name for each in client.ask(MetadataRequest(topics=None), 9).topics}


def groups_of(broker: BlockingBroker) -> Sequence[Any]:
    with WireClient(broker.bootstrap_servers) as client:
        while (answer := client.ask(ListGroupsRequest(), 5)).error_code:
            pass
    return [(each.group_id, each.group_type, each.group_state) for each in answer.groups]


def test_accepted_records_of_committed_transactions_never_come_again_not_even_after_a_restart() -> None:
    with Broker(SETTINGS) as broker:
        set_on_group(broker, share_auto_offset_reset="earliest", share_isolation_level="read_committed")
        produce(broker, (b"a", True), (b"b", False), (b"c", True))
        with member(broker, "first") as first:
            offsets = first.offsets(5)
            first.accept(offsets[0])
        broker.restart()
        with member(broker, "second") as second:
            assert (set(offsets) - MARKERS, set(second.offsets(4)) - MARKERS) == ({0, 4}, {4})


def test_member_ends_with_its_session_after_a_restart_without_share_groups(tmp_path: Path) -> None:
    own = {**SETTINGS, "log.dirs": str(tmp_path)}
    with Broker(own) as broker:
        produce(broker, (b"a", True))
        assert "__share_group_state" not in topics_of(broker)
        with member(broker, "first"):
            assert groups_of(broker) == [("g", "share", "Stable")]
        assert "__share_group_state" in topics_of(broker)
    with Broker({**own, "group.coordinator.rebalance.protocols": "classic"}) as broker:
        assert groups_of(broker) == [("g", "share", "Stable")]
        broker.clock.advance_timers(SESSION_S + 1)
        assert groups_of(broker) == [("g", "share", "Empty")]


def get(broker: BlockingBroker, path: str) -> Any:
    with urllib.request.urlopen(f"{broker.http_url}/v1/{path}", timeout=60) as response:
        return json.load(response)


def shown_in_console(servers: str) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The list of groups, and group "g", as a console without /v1 shows them."""

    async def ask() -> tuple[list[dict[str, Any]], dict[str, Any]]:
        cluster = AsyncCluster(take_client_settings(GivenOptions({"bootstrap.servers": servers}), "test"))
        try:
            return await group_rows(cluster), await group_detail(cluster, "g")
        finally:
            cluster.close()

    return asyncio.run(ask())


def test_lag_of_a_share_group_is_told_under_v1_by_top_and_in_the_console() -> None:
    with Broker({**SETTINGS, "pybroker.http.listeners": "HTTP://127.0.0.1:0"}) as broker:
        set_on_group(broker, share_auto_offset_reset="earliest")
        servers = broker.bootstrap_servers
        produce_records(servers, [Produced("t", 0, -1, -1, None, b"value")] * 5)
        with member(broker, "first") as first:
            first.accept(first.offsets(5)[0])
            while (row := get(broker, "groups")["items"][0])["lag"] is None:  # the state is written later
                pass
            assert (row["lag"], row["max_lag"], row["topics"], row["partitions"], row["verdict"]) == (4, 4, 1, 1, None)
            (offset,) = get(broker, "groups/g")["offsets"]
            assert (offset["topic"], offset["partition"], offset["end_offset"], offset["lag"]) == ("t", 0, 5, 4)
            (described,) = checked_json(servers, GroupDescription, "groups", "describe", "g")
            assert offset["committed"] == described["partitions"][0]["committed"]
            assert (offset["commit_ms"], offset["member_id"]) == (None, None)
            for way in ((), ("--v1", str(broker.http_url))):
                (view,) = checked_json(servers, TopView, "top", "-d", "0.1", *way)
                (group,) = view["groups"]
                assert (group["group"], group["state"], group["members"], group["lag"]) == ("g", "Stable", 1, 4)
            (listed,), detail = shown_in_console(servers)
            for shown in (listed, detail["group"]):
                numbers = ("state", "members", "lag", "topics", "partitions")
                assert [shown[name] for name in numbers] == ["Stable", 1, 4, 1, 1]
            (reader,) = detail["members"]
            assert (reader["member_id"], reader["assignment"]) == ("first", [{"topic": "t", "partitions": [0]}])
            (place,) = detail["offsets"]
            assert (place["topic"], place["committed"], place["lag"]) == ("t", offset["committed"], 4)
            assert place.keys() == offset.keys()
