"""Questions to transaction coordinators are sent together, and every caller gets its response."""

import asyncio
from functools import partial
from typing import Any, cast

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.waiting_requests import MAX_PRODUCE_WAIT_S
from pybroker.broker.inter_broker.transaction_verification import TransactionVerification
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from pybroker.protocol.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from pybroker.replication.transaction_checks import TransactionPart
from support.time.loop_turns import let_the_loop_turn
from support.time.virtual_time import VirtualTime

CONCURRENT = ErrorCode.CONCURRENT_TRANSACTIONS
LONG_MS = 3_600_000
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


class Link:
    """To a coordinator that answers when the test says so; what it is asked and says goes through the codec."""

    def __init__(self, newest_version: int = 5) -> None:
        self.newest_version = newest_version
        self.is_connected = False
        self.versions: list[int] = []
        self.asked: list[AddPartitionsToTxnRequest] = []
        self.came = asyncio.Event()
        self.is_closed = False
        self._answer: asyncio.Future[AddPartitionsToTxnResponse] | None = None

    async def ask(self, request: Message, version: int, timeout_ms: int) -> Any:
        if self.is_closed:
            raise ConnectionError("the link is closed")
        self.is_connected = True
        if isinstance(request, ApiVersionsRequest):
            served = ApiVersion(api_key=ApiKey.ADD_PARTITIONS_TO_TXN, max_version=self.newest_version)
            return ApiVersionsResponse(api_keys=[served])
        self.versions.append(version)
        self.asked.append(decode(AddPartitionsToTxnRequest, encode(request, version), version))
        self._answer = asyncio.get_running_loop().create_future()
        self.came.set()
        answer = await self._answer
        return decode(AddPartitionsToTxnResponse, encode(answer, version), version)

    async def answer(
        self, codes: dict[tuple[str, TopicPartition], ErrorCode], error: ErrorCode = ErrorCode.NONE
    ) -> None:
        results = [
            AddPartitionsToTxnResult(transactional_id=name, topic_results=[_result(partition, code)])
            for (name, partition), code in codes.items()
        ]
        (await self._pending()).set_result(AddPartitionsToTxnResponse(error_code=error, results_by_transaction=results))

    async def fail(self, error: Exception) -> None:
        (await self._pending()).set_exception(error)

    async def _pending(self) -> "asyncio.Future[AddPartitionsToTxnResponse]":
        await self.came.wait()
        self.came.clear()
        assert self._answer is not None
        return self._answer

    def kill(self) -> None:
        self.is_closed = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the link was closed"))

    async def close(self) -> None:
        self.kill()


def _result(partition: TopicPartition, code: ErrorCode) -> AddPartitionsToTxnTopicResult:
    result = AddPartitionsToTxnPartitionResult(partition_index=partition.partition, partition_error_code=code)
    return AddPartitionsToTxnTopicResult(name=partition.topic, results_by_partition=[result])


class Loop(VirtualTime):
    """The running loop, with timers in virtual time."""

    create_task = staticmethod(asyncio.create_task)


class Leader:
    """Asks broker 2 about transactional ids, and 3 about those that begin with a "3"."""

    def __init__(self) -> None:
        self.links = {2: Link(), 3: Link()}
        self.bugs: list[Exception] = []
        self.told: list[tuple[str, int, TopicPartition, ErrorCode]] = []
        self._all_told = asyncio.Event()
        self.knows_coordinator = True
        self.loop = Loop()
        self.questions = TransactionVerification(
            cast("asyncio.AbstractEventLoop", self.loop),
            coordinator_of=lambda name: (3 if name.startswith("3") else 2) if self.knows_coordinator else None,
            link_to=self.links.__getitem__,
            timeout_ms=LONG_MS,
            broken=self.bugs.append,
        )

    def ask(self, partition: TopicPartition, name: str = "t", *, epoch: int = 0, adds: bool = False) -> None:
        part = TransactionPart(name, 7, epoch, partition, adds)
        self.questions.ask(part, partial(self._note, name, epoch, partition))

    def _note(self, name: str, epoch: int, partition: TopicPartition, code: ErrorCode) -> None:
        self.told.append((name, epoch, partition, code))
        self._all_told.set()

    async def hear(self, count: int) -> list[tuple[str, int, TopicPartition, ErrorCode]]:
        while len(self.told) < count:
            self._all_told.clear()
            await self._all_told.wait()
        return self.told


@pytest.fixture
async def leader() -> Leader:
    return Leader()


def asked(link: Link, number: int = -1) -> dict[str, dict[str, list[int]]]:
    """Partitions by topic by transactional id."""
    transactions = link.asked[number].transactions
    assert all(each.verify_only for each in transactions)
    return {each.transactional_id: {topic.name: topic.partitions for topic in each.topics} for each in transactions}


def added(link: Link) -> list[dict[str, list[int]]]:
    """Partitions by transactional id, of each request."""
    return [
        {each.transactional_id: [index for topic in each.topics for index in topic.partitions] for each in transactions}
        for transactions in (request.transactions for request in link.asked)
    ]


async def test_questions_asked_together_go_in_one_request(leader: Leader) -> None:
    link = leader.links[2]
    for partition, name in ((A0, "t"), (A1, "t"), (B0, "t"), (A0, "u")):
        leader.ask(partition, name)
    await link.answer({("t", A0): ErrorCode.NONE, ("t", A1): ErrorCode.TRANSACTION_ABORTABLE,
                       ("t", B0): ErrorCode.NONE, ("u", A0): ErrorCode.PRODUCER_FENCED})  # fmt: skip
    assert await leader.hear(4) == [
        ("t", 0, A0, ErrorCode.NONE),
        ("t", 0, A1, ErrorCode.TRANSACTION_ABORTABLE),
        ("t", 0, B0, ErrorCode.NONE),
        ("u", 0, A0, ErrorCode.INVALID_PRODUCER_EPOCH),
    ]
    assert asked(link) == {"t": {"a": [0, 1], "b": [0]}, "u": {"a": [0]}}
    assert link.versions == [5]


async def test_only_one_request_is_in_flight_to_each_broker(leader: Leader) -> None:
    link = leader.links[2]
    leader.ask(A0)
    await link.came.wait()
    leader.ask(A1)
    leader.ask(B0, "u")
    leader.ask(A0, "3rd")
    await leader.links[3].answer({("3rd", A0): ErrorCode.NONE})
    assert len(link.asked) == 1
    await link.answer({("t", A0): ErrorCode.NONE})
    await link.answer({("t", A1): ErrorCode.NONE, ("u", B0): ErrorCode.NONE})
    await leader.hear(4)
    assert asked(link) == {"t": {"a": [1]}, "u": {"b": [0]}}


async def test_partitions_of_transaction_version_2_are_added(leader: Leader) -> None:
    leader.ask(A0, adds=True)
    await leader.links[2].answer({("t", A0): ErrorCode.NONE})
    await leader.hear(1)
    ((request,),) = [each.transactions for each in leader.links[2].asked]
    assert not request.verify_only


async def test_partitions_of_a_transactional_id_are_not_verified_and_added_in_the_same_request(leader: Leader) -> None:
    leader.ask(A0)
    leader.ask(A1, adds=True)
    assert leader.told == [("t", 0, A1, ErrorCode.NETWORK_EXCEPTION)]
    await leader.links[2].answer({("t", A0): ErrorCode.NONE})
    await leader.hear(2)


async def test_nothing_is_added_by_a_coordinator_of_an_old_kafka(leader: Leader) -> None:
    leader.links[2].newest_version = 3
    leader.ask(A0, adds=True)
    assert await leader.hear(1) == [("t", 0, A0, ErrorCode.COORDINATOR_NOT_AVAILABLE)]


async def test_question_with_an_older_producer_epoch_is_fenced(leader: Leader) -> None:
    leader.ask(A0, epoch=1)
    leader.ask(A0, epoch=0)
    leader.ask(A0, epoch=2)
    await leader.links[2].answer({("t", A0): ErrorCode.NONE})
    assert await leader.hear(3) == [
        ("t", 0, A0, ErrorCode.INVALID_PRODUCER_EPOCH),
        ("t", 1, A0, ErrorCode.INVALID_PRODUCER_EPOCH),
        ("t", 2, A0, ErrorCode.NONE),
    ]


@pytest.mark.parametrize("error", [ConnectionError("gone"), TimeoutError("late")])
async def test_unreachable_coordinator_gives_network_exception(leader: Leader, error: Exception) -> None:
    leader.ask(A0)
    await leader.links[2].fail(error)
    assert await leader.hear(1) == [("t", 0, A0, ErrorCode.NETWORK_EXCEPTION)]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
async def test_error_of_the_whole_response_applies_to_all_questions(
    leader: Leader, said: ErrorCode, told: ErrorCode
) -> None:
    leader.ask(A0)
    leader.ask(B0, "u")
    await leader.links[2].answer({}, said)
    assert [code for *_, code in await leader.hear(2)] == [told, told]


async def test_missing_coordinator_gives_coordinator_not_available(leader: Leader) -> None:
    leader.knows_coordinator = False
    leader.ask(A0)
    assert leader.told == [("t", 0, A0, ErrorCode.COORDINATOR_NOT_AVAILABLE)]


async def test_coordinator_too_old_to_verify_is_not_asked(leader: Leader) -> None:
    """Kafka before 3.5; on another connection there may be a newer one."""
    link = leader.links[2]
    link.newest_version = 3
    leader.ask(A0)
    assert await leader.hear(1) == [("t", 0, A0, ErrorCode.NONE)]
    assert link.asked == []
    link.is_connected, link.newest_version = False, 4
    leader.ask(A1)
    await link.answer({("t", A1): ErrorCode.NONE})
    await leader.hear(2)
    assert link.versions == [4]


async def test_partition_missing_from_the_response_is_not_verified(leader: Leader) -> None:
    leader.ask(A0)
    leader.ask(A1)
    await leader.links[2].answer({("t", A0): ErrorCode.NONE})
    assert (await leader.hear(2))[1] == ("t", 0, A1, ErrorCode.UNKNOWN_SERVER_ERROR)


async def test_waiting_questions_get_retriable_errors_when_the_broker_stops(leader: Leader) -> None:
    leader.ask(A0)
    await leader.links[2].came.wait()
    leader.ask(A1)
    await leader.questions.close()
    leader.ask(B0)
    assert leader.told == [
        ("t", 0, A0, ErrorCode.NETWORK_EXCEPTION),
        ("t", 0, A1, ErrorCode.NETWORK_EXCEPTION),
        ("t", 0, B0, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ]
    assert leader.bugs == []


async def test_addition_that_meets_the_end_of_the_transaction_before_is_repeated_alone(leader: Leader) -> None:
    """The producer would wait much longer than most ends take, and the additions of others must not wait for it."""
    link = leader.links[2]
    leader.ask(A0, adds=True)
    await link.answer({("t", A0): CONCURRENT})
    await let_the_loop_turn()
    leader.ask(B0, "u", adds=True)
    await link.answer({("u", B0): ErrorCode.NONE})
    assert await leader.hear(1) == [("u", 0, B0, ErrorCode.NONE)]
    leader.loop.advance(1)
    await link.answer({("t", A0): ErrorCode.NONE})
    assert (await leader.hear(2))[1] == ("t", 0, A0, ErrorCode.NONE)
    assert added(link) == [{"t": [0]}, {"u": [0]}, {"t": [0]}]


async def test_addition_is_repeated_for_less_time_than_a_client_would_wait(leader: Leader) -> None:
    link = leader.links[2]
    began_s = leader.loop.time()
    leader.ask(A0, adds=True)
    for pause_ms in (0, 1, 2, 4, 8, 16, 32):
        await link.answer({("t", A0): CONCURRENT})
        await let_the_loop_turn()
        assert leader.told == []
        leader.loop.advance(pause_ms)
    assert leader.loop.time() - began_s < MAX_PRODUCE_WAIT_S
    await link.answer({("t", A0): CONCURRENT})
    assert await leader.hear(1) == [("t", 0, A0, CONCURRENT)]
    assert len(link.asked) == 8


async def test_repeated_addition_goes_with_the_questions_that_came_meanwhile(leader: Leader) -> None:
    link = leader.links[2]
    leader.ask(A0, adds=True)
    await link.answer({("t", A0): CONCURRENT})
    await let_the_loop_turn()
    leader.ask(B0, "u", adds=True)
    await link.came.wait()
    leader.loop.advance(1)
    leader.ask(A1, adds=True)
    await link.answer({("u", B0): ErrorCode.NONE})
    await link.answer({("t", A0): ErrorCode.NONE, ("t", A1): ErrorCode.NONE})
    assert [code for *_, code in await leader.hear(3)] == [ErrorCode.NONE] * 3
    assert added(link) == [{"t": [0]}, {"u": [0]}, {"t": [0, 1]}]


async def test_addition_is_not_repeated_for_a_fenced_producer(leader: Leader) -> None:
    link = leader.links[2]
    leader.ask(A0, adds=True)
    await link.answer({("t", A0): CONCURRENT})
    await let_the_loop_turn()
    leader.ask(B0, "u", adds=True)
    await link.came.wait()
    leader.ask(A1, epoch=1, adds=True)
    leader.loop.advance(1)
    assert leader.told == [("t", 0, A0, ErrorCode.INVALID_PRODUCER_EPOCH)]
    await link.answer({("u", B0): ErrorCode.NONE})
    await link.answer({("t", A1): ErrorCode.NONE})
    await leader.hear(3)


async def test_verification_is_not_repeated(leader: Leader) -> None:
    leader.ask(A0)
    await leader.links[2].answer({("t", A0): CONCURRENT})
    assert await leader.hear(1) == [("t", 0, A0, CONCURRENT)]


@pytest.mark.parametrize("is_answered_before", [True, False])
async def test_addition_that_waits_for_its_repetition_is_answered_when_the_broker_stops(
    leader: Leader, is_answered_before: bool
) -> None:
    leader.ask(A0, adds=True)
    await leader.links[2].answer({("t", A0): CONCURRENT})
    if is_answered_before:
        await let_the_loop_turn()
    await leader.questions.close()
    assert leader.told == [("t", 0, A0, CONCURRENT)]
    assert leader.loop.armed_count == 0
