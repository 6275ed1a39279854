"""Requests that waited are freed with their response, not by a later garbage collection."""

import gc
from collections.abc import Iterator

import pytest
from pybroker import Broker
from pybroker.broker.network.request import Request
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from support.clients.wire_client import WireClient

FETCH = FetchRequest(
    max_wait_ms=1,
    min_bytes=1,
    max_bytes=1000,
    topics=[FetchTopic(topic="t", partitions=[FetchPartition(partition=0, partition_max_bytes=1000)])],
)
JOIN = JoinGroupRequest(
    group_id="g",
    session_timeout_ms=6000,
    rebalance_timeout_ms=1,
    protocol_type="consumer",
    protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
)


@pytest.fixture
def client() -> Iterator[WireClient]:
    settings = {"group.initial.rebalance.delay.ms": "10", "offsets.topic.num.partitions": "1"}
    with Broker(settings) as broker, WireClient(broker.bootstrap_servers) as client:
        while client.ask(MetadataRequest(topics=[MetadataRequestTopic(name="t")]), 4).topics[0].error_code:
            pass
        while client.ask(FindCoordinatorRequest(key="g"), 2).error_code:
            pass
        yield client


@pytest.fixture
def garbage() -> Iterator[list[object]]:
    """Everything that only a garbage collection frees, from now on."""
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    yield gc.garbage
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


@pytest.mark.parametrize(("request_that_waits", "version"), [(FETCH, 11), (JOIN, 2)], ids=["Fetch", "JoinGroup"])
def test_request_that_waited_is_freed_with_its_response(
    client: WireClient, garbage: list[object], request_that_waits: FetchRequest | JoinGroupRequest, version: int
) -> None:
    for _ in range(3):
        client.ask(request_that_waits, version)
    gc.collect()
    assert not [each for each in garbage if isinstance(each, Request)]
