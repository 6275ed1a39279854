"""A coordinator under random requests and faults: every request is answered, and at the end every transaction has."""

import asyncio
from collections.abc import Callable
from random import Random

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.init_rules import InitRequest
from pybroker.broker.coordinator.transaction.outcomes import Response
from pybroker.broker.coordinator.transaction.replay import Replay
from pybroker.broker.coordinator.transaction.requesting_producer import NO_PRODUCER, RequestingProducer
from pybroker.broker.coordinator.transaction.settings import TransactionSettings
from pybroker.broker.coordinator.transaction.states import IDLE_STATES
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.protocol.errors import (
    ErrorCode,
    KafkaStorageError,
    NotEnoughReplicasError,
    RequestTimedOutError,
    UnknownServerError,
)
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.sentinels import NO_LEADER
from support.in_process.transaction_world import BROKER_ID, OTHER_BROKER, TransactionWorld
from support.time.loop_turns import let_the_loop_turn

SEEDS = range(40)
STEPS = 150
PARTITIONS = 4
DATA = [TopicPartition("t", index) for index in range(5)]
CLEAR_ERRORS = (None, None, NotEnoughReplicasError(), KafkaStorageError())
"""After these it is known whether the record takes effect."""
ERRORS = (*CLEAR_ERRORS, RequestTimedOutError(), UnknownServerError())
REFUSALS = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.UNKNOWN_SERVER_ERROR)


class Run:
    """One run, which its seed determines."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.is_clear = seed % 2 == 0
        settings = TransactionSettings(
            abort_interval_ms=1_000,
            expiry_interval_ms=1_500,
            expiration_ms=self.random.choice([3_000, 10**9]),
            max_bytes=self.random.choice([5_000, 10**8]),
        )
        self.world = TransactionWorld(settings, PARTITIONS)
        self.told: list[RequestingProducer] = []
        self.replies: list[list[Response]] = []
        self.epoch = 0
        self.loads: list[asyncio.Task[None]] = []
        self.actions: list[Callable[[], None]] = [
            *[self.init] * 4, *[self.add] * 5, self.add_offsets, *[self.end] * 4, self.append_errors, self.replicas,
            self.hold, *[self.report_marker] * 2, self.move_leaders, self.answer, self.elect, self.resign, self.wait,
        ]  # fmt: skip

    def reply(self) -> Callable[[Response], None]:
        replies: list[Response] = []
        self.replies.append(replies)

        def note(response: Response) -> None:
            replies.append(response)
            if response.code is ErrorCode.NONE and response.producer_id >= 0:
                self.told.append(RequestingProducer(response.producer_id, response.producer_epoch))

        return note

    def name(self) -> str:
        return self.random.choice("abc")

    def producer(self) -> RequestingProducer:
        if self.told and self.random.random() < 0.85:
            return self.random.choice(self.told[-6:])
        return RequestingProducer(self.random.randrange(-2, 1_010), self.random.choice([-1, 0, 1, 32_766, 32_767]))

    # -- requests

    def init(self) -> None:
        request = InitRequest(
            self.random.choice([1, 1_000, 60_000]), self.random.choice([NO_PRODUCER, self.producer()])
        )
        self.world.coordinator.requests.init_producer_id(self.name(), request, self.reply())

    def add(self) -> None:
        partitions = self.random.sample(DATA, self.random.randrange(4))
        version = self.random.choice([0, 2])
        self.world.coordinator.requests.add_partitions(
            self.name(), self.producer(), partitions, self.reply(), transaction_version=version
        )

    def add_offsets(self) -> None:
        self.world.coordinator.requests.add_offsets(self.name(), self.producer(), "group", self.reply())

    def end(self) -> None:
        is_commit = self.random.random() < 0.5
        requests = self.world.coordinator.requests
        end = self.random.choice([requests.end, requests.end_and_bump])
        end(self.name(), self.producer(), self.reply(), is_commit=is_commit)

    # -- faults

    def append_errors(self) -> None:
        self.world.log.append_error = self.random.choice(CLEAR_ERRORS if self.is_clear else ERRORS)

    def replicas(self) -> None:
        (self.world.log.replicas.clear if self.random.random() < 0.3 else self.world.log.replicas.set)()

    def hold(self) -> None:
        self.world.holds_markers = self.random.random() < 0.5

    def report_marker(self) -> None:
        if self.world.held:
            done = self.world.held.pop(self.random.randrange(len(self.world.held)))
            done(self.random.choice([ErrorCode.NONE, *REFUSALS]))

    def move_leaders(self) -> None:
        self.world.leaders = {each: self.random.choice([BROKER_ID, OTHER_BROKER, NO_LEADER, None]) for each in DATA}
        self.world.coordinator.leaders_changed()

    def answer(self) -> None:
        """The other broker answers, or the connection to it breaks."""
        if self.world.requests:
            markers, answered = self.world.requests.pop()
            codes = {
                each.marker.producer_id: {to: self.random.choice([ErrorCode.NONE, *REFUSALS]) for to in each.partitions}
                for each in markers
            }
            answered(self.random.choice([None, codes]))

    def elect(self) -> None:
        self.epoch += 1
        load = self.world.coordinator.partitions.load(self.random.randrange(PARTITIONS), self.epoch)
        self.loads.append(asyncio.ensure_future(load))

    def resign(self) -> None:
        self.epoch += 1
        self.world.coordinator.partitions.unload(self.random.randrange(PARTITIONS), self.epoch)

    def wait(self) -> None:
        self.world.time.advance(self.random.choice([1, 20, 100, 1_500]))

    # -- the end

    async def settle(self) -> None:
        """End all faults, and wait until nothing changes any more."""
        world = self.world
        world.log.append_error, world.holds_markers, world.leaders = None, False, {}
        world.log.replicas.set()
        await asyncio.gather(*self.loads)
        for _ in range(40):
            while world.held:
                world.held.pop()(ErrorCode.NONE)
            while world.requests:
                world.requests.pop()[1](None)
            world.coordinator.leaders_changed()
            world.time.advance(2_500)
            await let_the_loop_turn()

    async def load(self, *, again: bool) -> None:
        """Be elected for the partitions that were given up, or for all of them, after which no id is in doubt."""
        self.epoch += 1
        for partition in range(PARTITIONS):
            if again or not self.world.coordinator.registry.ownership.owns(partition):
                await self.world.coordinator.partitions.load(partition, self.epoch)
        await self.settle()

    def in_memory(self) -> list[Transaction]:
        registry = self.world.coordinator.registry
        return [each for partition in range(PARTITIONS) for each in registry.transactions_in(partition)]

    def in_log(self) -> set[tuple[str, str, int, int]]:
        found: set[tuple[str, str, int, int]] = set()
        for partition in range(PARTITIONS):
            replay = Replay(partition, self.world.coordinator.partition_for)
            for buffer in self.world.log.store.batches[partition]:
                for batch in iter_batches(buffer):
                    list(replay.steps(batch))
            found.update(map(summary, replay.entries()))
        return found


def summary(transaction: Transaction) -> tuple[str, str, int, int]:
    producer = transaction.current.producer
    return transaction.transactional_id, transaction.state.title, producer.producer_id, producer.epoch


@pytest.mark.parametrize("seed", SEEDS)
async def test_every_request_is_answered_and_every_transaction_ends(seed: int) -> None:
    run = Run(seed)
    await run.world.load()
    run.world.coordinator.start()
    for _ in range(STEPS):
        run.random.choice(run.actions)()
        await let_the_loop_turn(run.random.randrange(6))
    await run.settle()
    assert all(run.replies)
    await run.load(again=not run.is_clear)

    kept = run.in_memory()
    assert all(each.state in IDLE_STATES and not each.is_pending for each in kept)
    assert run.in_log() == {summary(each) for each in kept}
    assert run.world.coordinator.registry.memory.used_bytes == sum(each.size_bytes for each in kept)
    run.world.coordinator.kill()
    assert run.world.time.armed_count == 0
