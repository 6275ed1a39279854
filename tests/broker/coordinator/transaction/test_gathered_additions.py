"""Leaders on the coordinator's broker have partitions added together, in transaction version 2."""

from collections.abc import Sequence
from functools import partial

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.gathered_additions import GatheredAdditions
from pybroker.broker.coordinator.transaction.requesting_producer import RequestingProducer
from pybroker.broker.coordinator.transaction.waiting_requests import MAX_PRODUCE_WAIT_S
from pybroker.protocol.errors import ErrorCode
from support.in_process.transaction_world import TransactionWorld
from support.time.loop_turns import let_the_loop_turn

NONE, CONCURRENT = ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS
MANY = [TopicPartition("t", index) for index in range(300)]
LAST = TopicPartition("u", 0)


class Leaders:
    """`told`: the answers, in their order."""

    def __init__(self, world: TransactionWorld) -> None:
        self.world = world
        self.told: list[tuple[TopicPartition, ErrorCode]] = []
        self._additions = GatheredAdditions(world.coordinator.requests, world.time)

    def ask(self, producer: RequestingProducer, partitions: Sequence[TopicPartition], name: str = "a") -> None:
        for each in partitions:
            self._additions.add(name, producer, each, partial(self._note, each))

    async def settle(self, milliseconds: int = 0) -> None:
        self.world.time.advance(milliseconds)
        await let_the_loop_turn()

    def _note(self, partition: TopicPartition, code: ErrorCode) -> None:
        self.told.append((partition, code))

    @property
    def records(self) -> int:
        return len(self.world.log.store.records())


async def started() -> tuple[Leaders, RequestingProducer]:
    world = await TransactionWorld().load()
    return Leaders(world), await world.producer("a")


async def ending(leaders: Leaders, producer: RequestingProducer) -> RequestingProducer:
    """The producer's next epoch, while the markers of its transaction are not written."""
    await leaders.world.add_in_version_2("a", producer, LAST)
    leaders.world.holds_markers = True
    response = await leaders.world.end_and_bump("a", producer)
    return RequestingProducer(response.producer_id, response.producer_epoch)


async def test_many_partitions_of_one_request_are_added_with_one_record() -> None:
    leaders, producer = await started()
    before = leaders.records
    leaders.ask(producer, MANY)
    await leaders.settle()
    assert leaders.told == [(each, NONE) for each in MANY]
    assert leaders.records == before + 1


async def test_partitions_that_come_during_an_addition_are_added_with_the_next_record() -> None:
    leaders, producer = await started()
    before = leaders.records
    leaders.world.log.replicas.clear()
    leaders.ask(producer, MANY[:10])
    await leaders.settle()
    for each in MANY[10:]:
        leaders.ask(producer, [each])
        await leaders.settle()
    await leaders.settle(int(MAX_PRODUCE_WAIT_S * 1000) + 1)
    assert (leaders.told, leaders.records) == ([], before + 1)
    leaders.world.log.replicas.set()
    await let_the_loop_turn()
    assert leaders.told == [(each, NONE) for each in MANY]
    assert leaders.records == before + 2


async def test_every_question_about_the_same_partition_is_answered() -> None:
    leaders, producer = await started()
    leaders.ask(producer, [LAST, LAST])
    await leaders.settle()
    leaders.ask(producer, [LAST])
    await leaders.settle()
    assert leaders.told == [(LAST, NONE)] * 3


async def test_partitions_wait_for_the_end_of_the_transaction_before() -> None:
    leaders, producer = await started()
    following = await ending(leaders, producer)
    leaders.ask(following, MANY)
    await leaders.settle(int(MAX_PRODUCE_WAIT_S * 1000) - 1)
    assert leaders.told == []
    leaders.world.held.pop()(NONE)
    await let_the_loop_turn()
    assert leaders.told == [(each, NONE) for each in MANY]


async def test_no_partition_waits_longer_than_the_limit_for_the_end_of_the_transaction_before() -> None:
    leaders, producer = await started()
    following = await ending(leaders, producer)
    limit_ms = int(MAX_PRODUCE_WAIT_S * 1000)
    leaders.ask(following, MANY[:2])
    await leaders.settle(limit_ms // 2)
    leaders.ask(following, MANY[2:4])
    await leaders.settle(limit_ms // 2)
    assert leaders.told == [(each, CONCURRENT) for each in MANY[:4]]


async def test_a_producer_that_waits_does_not_hold_back_other_producers() -> None:
    leaders, producer = await started()
    other = await leaders.world.producer("b")
    following = await ending(leaders, producer)
    leaders.ask(following, MANY[:1])
    leaders.ask(other, [LAST], "b")
    await leaders.settle()
    assert leaders.told == [(LAST, NONE)]


@pytest.mark.parametrize("is_fenced_first", [True, False])
async def test_a_fenced_producer_does_not_spoil_the_additions_of_its_successor(is_fenced_first: bool) -> None:
    leaders, old = await started()
    new = await leaders.world.producer("a")
    questions = [(old, MANY[:1]), (new, MANY[1:2])]
    for producer, partitions in questions if is_fenced_first else questions[::-1]:
        leaders.ask(producer, partitions)
    await leaders.settle()
    assert dict(leaders.told) == {MANY[0]: ErrorCode.PRODUCER_FENCED, MANY[1]: NONE}
