"""The controller sends each request to a broker, in a version that it reads, until the broker answers."""

import asyncio
from collections import deque
from typing import Any

import pytest
from pybroker.broker.inter_broker.remote_channel import RemoteChannel
from pybroker.broker.inter_broker.request_versions import RequestVersions
from pybroker.controller.broker_channel import BrokerQueue, ControlRequest
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from pybroker.protocol.messages.stop_replica import StopReplicaRequest, StopReplicaResponse
from pybroker.protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse

ANSWERS: dict[type[Message], Message] = {
    LeaderAndIsrRequest: LeaderAndIsrResponse(),
    StopReplicaRequest: StopReplicaResponse(),
    UpdateMetadataRequest: UpdateMetadataResponse(),
}


class FakeLink:
    """Fails with ``failures`` first, then answers. ``asked``: the requests as they were read, and their versions."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = deque(failures)
        self.asked: list[tuple[Any, int]] = []
        self.is_open = True
        self.was_asked = asyncio.Event()

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        self.asked.append((decode(type(request), encode(request, version), version), version))
        self.was_asked.set()
        if self.failures:
            raise self.failures.popleft()
        return ANSWERS[type(request)]

    def kill(self) -> None:
        self.is_open = False

    async def close(self) -> None:
        self.is_open = False


def channel(link: FakeLink, protocol_version: str = "3.9") -> RemoteChannel:
    return RemoteChannel(2, link, RequestVersions.of(protocol_version), 30_000)


@pytest.mark.parametrize(("protocol_version", "wanted"), [("3.0", (5, 7, 3)), ("3.2", (6, 7, 3)), ("3.9", (7, 8, 4))])
async def test_request_versions_follow_the_inter_broker_protocol_version(
    protocol_version: str, wanted: tuple[int, ...]
) -> None:
    link = FakeLink()
    requests: list[ControlRequest] = [LeaderAndIsrRequest(), UpdateMetadataRequest(), StopReplicaRequest()]
    for request in requests:
        assert await channel(link, protocol_version).send(request) is ANSWERS[type(request)]
    assert tuple(version for _, version in link.asked) == wanted


@pytest.mark.parametrize(("protocol_version", "told"), [("3.1", 0), ("3.2", 1)])
async def test_leader_recovery_state_is_sent_to_brokers_whose_version_has_it(protocol_version: str, told: int) -> None:
    state = LeaderAndIsrPartitionState(partition_index=0, leader=2, isr=[2], leader_recovery_state=1)
    request = LeaderAndIsrRequest(topic_states=[LeaderAndIsrTopicState(topic_name="t", partition_states=[state])])
    link = FakeLink()
    await channel(link, protocol_version).send(request)
    assert link.asked[0][0].topic_states[0].partition_states[0].leader_recovery_state == told
    assert state.leader_recovery_state == 1  # other brokers' copies are the same objects


async def test_request_is_retried_until_it_is_answered() -> None:
    link = FakeLink(ConnectionRefusedError(), TimeoutError(), ConnectionResetError())
    request = UpdateMetadataRequest(controller_epoch=7)
    assert await channel(link).send(request) is ANSWERS[UpdateMetadataRequest]
    assert [asked.controller_epoch for asked, _ in link.asked] == [7, 7, 7, 7]


async def test_failing_link_is_logged_once_for_each_request(caplog: pytest.LogCaptureFixture) -> None:
    link = FakeLink(*(ConnectionRefusedError("no") for _ in range(3)))
    await channel(link).send(UpdateMetadataRequest())
    assert [record.message for record in caplog.records] == [
        "controller: UpdateMetadataRequest to broker 2 failed, retrying: no"
    ]


async def test_unexpected_exception_is_not_retried() -> None:
    link = FakeLink(ValueError("a bug"))
    with pytest.raises(ValueError, match="a bug"):
        await channel(link).send(UpdateMetadataRequest())
    assert len(link.asked) == 1


async def test_closed_queue_cancels_the_request_and_closes_the_link() -> None:
    link = FakeLink(*(ConnectionRefusedError() for _ in range(1000)))
    queue = BrokerQueue(2, channel(link), lambda *_: None)
    queue.put(UpdateMetadataRequest())
    await link.was_asked.wait()
    await queue.close()
    assert queue.is_idle
    assert not link.is_open
