"""InitProducerId: ids for idempotent producers, and a fatal error for transactional producers."""

import logging

import pytest
from pybroker.broker.apis.transactions.init_producer_id import InitProducerId
from pybroker.protocol.codec import decode, encode
from pybroker.protocol.errors import CoordinatorNotAvailableError, ErrorCode
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from support.in_process.replicas import request_context

LATEST_VERSION = 5


class CountingIds:
    def __init__(self) -> None:
        self.last = 999

    async def next(self) -> int:
        self.last += 1
        return self.last


async def ask(handler: InitProducerId, version: int = LATEST_VERSION, **fields: object) -> InitProducerIdResponse:
    request = InitProducerIdRequest(transaction_timeout_ms=60_000, **fields)  # type: ignore[arg-type]
    frame = encode(request, version)
    answer = await handler(request_context(version), decode(InitProducerIdRequest, frame, version))
    return decode(InitProducerIdResponse, encode(answer, version), version)


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_each_producer_gets_its_own_id(version: int) -> None:
    handler = InitProducerId(CountingIds().next)
    answers = [await ask(handler, version, transactional_id=None) for _ in range(3)]
    assert [(each.error_code, each.producer_id, each.producer_epoch) for each in answers] == [
        (ErrorCode.NONE, 1000, 0),
        (ErrorCode.NONE, 1001, 0),
        (ErrorCode.NONE, 1002, 0),
    ]


async def test_a_producer_that_names_its_old_id_gets_a_new_id() -> None:
    answer = await ask(InitProducerId(CountingIds().next), transactional_id=None, producer_id=17, producer_epoch=3)
    assert (answer.producer_id, answer.producer_epoch) == (1000, 0)


@pytest.mark.parametrize(("producer_id", "producer_epoch"), [(17, -1), (-1, 3)])
async def test_a_producer_id_without_an_epoch_or_the_reverse_is_refused(producer_id: int, producer_epoch: int) -> None:
    answer = await ask(
        InitProducerId(CountingIds().next),
        transactional_id=None,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
    )
    assert answer.error_code == ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize("version", range(LATEST_VERSION + 1))
async def test_a_transactional_id_gets_a_fatal_error_and_the_log_says_why(
    version: int, caplog: pytest.LogCaptureFixture
) -> None:
    ids = CountingIds()
    with caplog.at_level(logging.WARNING):
        answer = await ask(InitProducerId(ids.next), version, transactional_id="payments")
    assert answer.error_code == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    assert answer.producer_id == -1
    assert ids.last == 999
    assert "does not serve" in caplog.text
    assert "payments" in caplog.text


async def test_an_empty_transactional_id_is_refused() -> None:
    assert (await ask(InitProducerId(CountingIds().next), transactional_id="")).error_code == ErrorCode.INVALID_REQUEST


async def test_an_error_in_getting_producer_ids_is_returned_to_the_client() -> None:
    class NoIds:
        async def next(self) -> int:
            raise CoordinatorNotAvailableError()

    with pytest.raises(CoordinatorNotAvailableError):
        await ask(InitProducerId(NoIds().next), transactional_id=None)
