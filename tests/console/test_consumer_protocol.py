"""The console shows groups of the consumer protocol (KIP-848) without the help of /v1."""

import asyncio

import pytest
from pybroker.broker.library.broker import Broker
from pybroker.client.asynchronous.cluster import AsyncCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.given_options import GivenOptions
from pybroker.console.cluster_views import group_views
from pybroker.protocol.errors import KafkaError
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from support.clients.wire_client import WireClient
from support.clients.wire_member import wait_for_coordinator
from support.time.patience import HANGS_AFTER_S

JOINING = ConsumerGroupHeartbeatRequest(
    group_id="new", member_id="m", rebalance_timeout_ms=20_000, subscribed_topic_names=["orders"], topic_partitions=[]
)


def join(servers: str) -> None:
    wait_for_coordinator(servers, "new")
    with WireClient(servers, HANGS_AFTER_S) as wire:
        assert wire.ask(JOINING, 1).error_code == 0


async def test_group_of_the_consumer_protocol_is_shown_with_its_state_and_members() -> None:
    async with Broker() as broker:
        await asyncio.to_thread(join, broker.bootstrap_servers)
        cluster = AsyncCluster(
            take_client_settings(GivenOptions({"bootstrap.servers": broker.bootstrap_servers}), "test")
        )
        (row,) = await group_views.group_rows(cluster)
        detail = await group_views.group_detail(cluster, "new")
        with pytest.raises(KafkaError):
            await group_views.group_detail(cluster, "none")
        cluster.close()
    assert (row["state"], row["protocol"], row["members"]) == ("Stable", "uniform", 1)
    assert detail["group"]["state"] == "Stable"
    (member,) = detail["members"]
    assert (member["member_id"], member["epoch"], member["subscribed_topics"]) == ("m", 1, ["orders"])
    assert member["assignment"] == []
