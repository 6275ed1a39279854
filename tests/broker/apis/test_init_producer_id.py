"""InitProducerId: ids for idempotent and for transactional producers."""

from collections.abc import Awaitable
from typing import Any

import pytest
from pybroker.broker.apis.transactions.init_producer_id import InitProducerId
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import CoordinatorNotAvailableError, ErrorCode
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from support.in_process.replicas import request_context
from support.in_process.transaction_world import TransactionWorld
from support.time.loop_turns import let_the_loop_turn

LATEST_VERSION = 5


class CountingIds:
    def __init__(self) -> None:
        self.last = 999

    async def next(self) -> int:
        self.last += 1
        return self.last


def handler_of(ids: Any) -> InitProducerId:
    """A handler for producers without a transactional id."""
    return InitProducerId(ids.next, TransactionWorld().coordinator.requests)


async def ask(handler: InitProducerId, version: int = LATEST_VERSION, **fields: object) -> InitProducerIdResponse:
    request = InitProducerIdRequest(**{"transaction_timeout_ms": 60_000, **fields})  # type: ignore[arg-type]
    frame = encode(request, version)
    answer = handler(request_context(version), decode(InitProducerIdRequest, frame, version))
    await let_the_loop_turn()
    if isinstance(answer, Awaitable):
        answer = await answer
    return decode(InitProducerIdResponse, encode(answer, version), version)


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_each_producer_gets_its_own_id(version: int) -> None:
    handler = handler_of(CountingIds())
    answers = [await ask(handler, version, transactional_id=None) for _ in range(3)]
    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in answers] == [
        (ErrorCode.NONE, 1000, 0),
        (ErrorCode.NONE, 1001, 0),
        (ErrorCode.NONE, 1002, 0),
    ]


async def test_a_producer_that_names_its_old_id_gets_a_new_id() -> None:
    answer = await ask(handler_of(CountingIds()), transactional_id=None, producer_id=17, producer_epoch=3)
    assert (answer.producer_id, answer.producer_epoch) == (1000, 0)


@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(17, -1), (-1, 3)])
async def test_a_producer_id_without_an_epoch_or_the_reverse_is_refused(producer_id: int, producer_epoch: int) -> None:
    answer = await ask(
        handler_of(CountingIds()),
        transactional_id=None,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_a_transactional_producer_gets_a_higher_epoch_at_each_start(version: int) -> None:
    world = await TransactionWorld().load()
    handler = InitProducerId(CountingIds().next, world.coordinator.requests)
    answers = [await ask(handler, version, transactional_id="payments") for _ in range(2)]
    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in answers] == [
        (ErrorCode.NONE, 1001, 0),
        (ErrorCode.NONE, 1001, 1),
    ]


@pytest.mark.parametrize(
    ("version", "expected"), [(3, ErrorCode.INVALID_PRODUCER_EPOCH), (4, ErrorCode.PRODUCER_FENCED)]
)
async def test_a_fenced_producer_gets_the_code_that_its_version_knows(version: int, expected: ErrorCode) -> None:
    world = await TransactionWorld().load()
    handler = InitProducerId(CountingIds().next, world.coordinator.requests)
    for _ in range(3):
        await ask(handler, version, transactional_id="payments")
    answer = await ask(handler, version, transactional_id="payments", producer_id=1001, producer_epoch=0)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (expected, -1, -1)


@pytest.mark.parametrize("timeout_ms", [-1, 0, 900_001])
async def test_a_timeout_beyond_transaction_max_timeout_ms_is_refused(timeout_ms: int) -> None:
    world = await TransactionWorld().load()
    handler = InitProducerId(CountingIds().next, world.coordinator.requests)
    answer = await ask(handler, transactional_id="payments", transaction_timeout_ms=timeout_ms)
    assert answer.error_code == ErrorCode.INVALID_TRANSACTION_TIMEOUT


async def test_an_empty_transactional_id_is_refused() -> None:
    assert (await ask(handler_of(CountingIds()), transactional_id="")).error_code == ErrorCode.INVALID_REQUEST


async def test_an_error_in_getting_producer_ids_is_returned_to_the_client() -> None:
    class NoIds:
        async def next(self) -> int:
            raise CoordinatorNotAvailableError()

    with pytest.raises(CoordinatorNotAvailableError):
        await ask(handler_of(NoIds()), transactional_id=None)
