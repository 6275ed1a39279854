"""A stopping broker retries ControlledShutdown, and stops retrying when no other broker can lead."""

import asyncio
from collections.abc import Iterable

import pytest
from pybroker.broker.inter_broker.leaving import Successors, hand_over_leaderships
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

REQUEST = ControlledShutdownRequest(broker_id=1, broker_epoch=7)
LONGER_THAN_ANY_TEST_MS = 3_600_000
TURNS = 20


def answer(*remaining: int, error: ErrorCode = ErrorCode.NONE) -> ControlledShutdownResponse:
    partitions = [RemainingPartition(topic_name="orders", partition_index=index) for index in remaining]
    return ControlledShutdownResponse(error_code=error, remaining_partitions=partitions)


class Leaving:
    """Broker 1, which is about to stop. Partition n of topic orders is on the brokers ``replicas[n]``."""

    def __init__(self, replicas: Iterable[list[int]] = ([1, 2], [1, 3])) -> None:
        self.answers: list[Message | Exception] = []
        self.asked = 0
        self._replicas = list(replicas)
        self._cache = MetadataCache()
        self._successors = Successors(self._cache, 1)
        self.tell([1, 2, 3])

    def tell(self, brokers: Iterable[int], controller_id: int = 2) -> None:
        """Which brokers are up, and who is controller."""
        partitions = [
            UpdateMetadataPartitionState(partition_index=index, leader=1, replicas=replicas)
            for index, replicas in enumerate(self._replicas)
        ]
        update = UpdateMetadataRequest(
            controller_id=controller_id,
            live_brokers=[UpdateMetadataBroker(id=broker_id) for broker_id in brokers],
            topic_states=[UpdateMetadataTopicState(topic_name="orders", partition_states=partitions)],
        )
        self._cache.update(update)

    async def ask_once(self, _request: Message, _version: int) -> Message:
        self.asked += 1
        said = self.answers.pop(0)
        if isinstance(said, Exception):
            raise said
        return said

    async def leave(self, tries: int = 3, backoff_ms: int = 0) -> bool:
        return await hand_over_leaderships(
            self.ask_once, REQUEST, 3, self._successors, max_retries=tries, backoff_ms=backoff_ms
        )

    async def is_waiting(self) -> None:
        """Wait until the request is answered and the next retry is pending."""
        for _ in range(TURNS):
            await asyncio.sleep(0)


@pytest.fixture
async def leaving() -> Leaving:
    return Leaving()


async def test_controlled_shutdown_is_retried_until_this_broker_leads_nothing(leaving: Leaving) -> None:
    leaving.answers = [answer(0, 1), ConnectionError("gone"), answer()]
    assert await leaving.leave(tries=3)
    assert leaving.asked == 3


async def test_controlled_shutdown_is_retried_up_to_its_limit(leaving: Leaving) -> None:
    leaving.answers = [answer(error=ErrorCode.STALE_BROKER_EPOCH), TimeoutError(), answer(0)]
    assert not await leaving.leave(tries=3)
    assert leaving.asked == 3
    assert not await leaving.leave(tries=0)
    assert leaving.asked == 3


async def test_last_live_broker_does_not_wait_in_controlled_shutdown(leaving: Leaving) -> None:
    leaving.tell([1])
    for said in (
        answer(0, 1),
        ConnectionError("the controller is unknown"),
        answer(error=ErrorCode.NOT_CONTROLLER),
    ):
        leaving.answers = [said]
        assert not await leaving.leave(backoff_ms=LONGER_THAN_ANY_TEST_MS)


async def test_controlled_shutdown_does_not_wait_for_brokers_without_replicas(leaving: Leaving) -> None:
    leaving.tell([1, 3])
    leaving.answers = [answer(0)]
    assert not await leaving.leave(backoff_ms=LONGER_THAN_ANY_TEST_MS)


async def test_controlled_shutdown_stops_waiting_when_the_replicas_broker_leaves(leaving: Leaving) -> None:
    leaving.answers = [answer(0, 1)]
    left = asyncio.create_task(leaving.leave(backoff_ms=LONGER_THAN_ANY_TEST_MS))
    await leaving.is_waiting()
    leaving.tell([1, 3])
    await leaving.is_waiting()
    assert not left.done()
    leaving.tell([1])
    assert not await left
    assert leaving.asked == 1


async def test_new_controller_is_asked_without_waiting_for_the_backoff(leaving: Leaving) -> None:
    leaving.answers = [ConnectionError("gone")]
    left = asyncio.create_task(leaving.leave(backoff_ms=LONGER_THAN_ANY_TEST_MS))
    await leaving.is_waiting()
    leaving.answers = [answer()]
    leaving.tell([1, 3], controller_id=3)
    assert await left


class Overtaken(Leaving):
    """Another controller comes while the first is asked."""

    async def ask_once(self, request: Message, version: int) -> Message:
        self.tell([1, 3], controller_id=3)
        return await super().ask_once(request, version)


async def test_controller_elected_during_a_request_is_asked_without_waiting() -> None:
    leaving = Overtaken()
    leaving.answers = [ConnectionRefusedError(111, "Connection refused"), answer()]
    assert await leaving.leave(backoff_ms=LONGER_THAN_ANY_TEST_MS)
    assert leaving.asked == 2
