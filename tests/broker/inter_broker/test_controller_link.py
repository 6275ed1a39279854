"""Requests to the controller reach the right broker while the controller changes."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pybroker.broker.inter_broker.controller_link import ControllerLink, IsControllerError
from pybroker.broker.metadata.address import Address
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode, NotControllerError, StaleBrokerEpochError
from pybroker.protocol.messages.controlled_shutdown import ControlledShutdownRequest, ControlledShutdownResponse
from pybroker.protocol.messages.create_topics import CreateTopicsRequest

REQUEST = ControlledShutdownRequest(broker_id=1, broker_epoch=7)


class Cluster:
    """Brokers 1 (this one), 2 and 3: what each answers, and whom broker 1 believes to be controller."""

    def __init__(self, timeout_ms: int = 3_600_000) -> None:
        self.controller_id = -1
        self.answers: dict[int, list[Message | Exception]] = {1: [], 2: [], 3: []}
        self.asked: list[int] = []
        self.killed: list[int] = []
        self.is_active = False
        self.link = ControllerLink(
            asyncio.get_running_loop(),
            1,
            controller_id=lambda: self.controller_id,
            is_active=lambda: self.is_active,
            address_of=lambda broker_id: Address(str(broker_id), 0),
            link_to=lambda address: _Link(self, address),
            local={ApiKey.CONTROLLED_SHUTDOWN: lambda request, version: self.say(1)},
            timeout_ms=timeout_ms,
        )

    async def say(self, broker_id: int) -> Message:
        self.asked.append(broker_id)
        answer = self.answers[broker_id].pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


class _Link:
    def __init__(self, cluster: Cluster, address: Callable[[], Address | None]) -> None:
        self._cluster = cluster
        self._address = address

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        address = self._address()
        assert address is not None
        return await self._cluster.say(int(address[0]))

    def kill(self) -> None:
        address = self._address()
        assert address is not None
        self._cluster.killed.append(int(address[0]))

    async def close(self) -> None:
        self.kill()


@pytest.fixture
async def cluster() -> Cluster:
    return Cluster()


def answer(error: ErrorCode = ErrorCode.NONE) -> ControlledShutdownResponse:
    return ControlledShutdownResponse(error_code=error)


async def test_request_follows_the_controller_to_another_broker(cluster: Cluster) -> None:
    cluster.controller_id = 2
    cluster.answers[2] = [answer(ErrorCode.NOT_CONTROLLER), ConnectionError("gone"), TimeoutError("silent"), answer()]
    assert (await cluster.link.ask(REQUEST, 3)).error_code == ErrorCode.NONE
    assert cluster.asked == [2, 2, 2, 2]
    cluster.controller_id = 3
    cluster.answers[3] = [answer()]
    await cluster.link.ask(REQUEST, 3)
    assert cluster.killed == [2]  # the link to the former controller is no longer used


async def test_controller_calls_its_own_handler(cluster: Cluster) -> None:
    cluster.is_active = True
    cluster.answers[1] = [NotControllerError(), StaleBrokerEpochError()]
    assert (await cluster.link.ask(REQUEST, 3)).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.asked == [1, 1]


async def test_broker_elected_controller_meanwhile_gets_is_controller_error(cluster: Cluster) -> None:
    cluster.is_active = True
    with pytest.raises(IsControllerError):
        await cluster.link.ask(CreateTopicsRequest(), 7)
    assert cluster.asked == []


async def test_request_without_a_controller_gives_up_at_its_deadline(cluster: Cluster) -> None:
    with pytest.raises(TimeoutError):
        await cluster.link.ask(REQUEST, 3, give_up_after_ms=0)
    with pytest.raises(ConnectionError):
        await cluster.link.ask_once(REQUEST, 3)
    await cluster.link.close()
    with pytest.raises(ConnectionError):
        await cluster.link.ask(REQUEST, 3)


async def test_request_to_itself_is_bounded_by_its_timeout(cluster: Cluster) -> None:
    """A controller that waits for ZooKeeper may take that long."""
    cluster = Cluster(timeout_ms=1)
    cluster.is_active = True

    async def say_nothing(broker_id: int) -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    cluster.say = say_nothing  # type: ignore[method-assign]
    with pytest.raises(TimeoutError):
        await cluster.link.ask_once(REQUEST, 3)
