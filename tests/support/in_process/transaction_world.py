"""A transaction coordinator that owns all partitions of a topic in memory, with the leaders that write its markers."""

from collections.abc import Callable, Sequence
from random import Random

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.coordinator import CoordinatorPorts, TransactionCoordinator
from pybroker.broker.coordinator.transaction.end_markers import EndMarker, MarkersToWrite
from pybroker.broker.coordinator.transaction.init_rules import InitRequest
from pybroker.broker.coordinator.transaction.marker_delivery import MarkerCodes, MarkerPorts
from pybroker.broker.coordinator.transaction.outcomes import Response
from pybroker.broker.coordinator.transaction.requesting_producer import NO_PRODUCER, RequestingProducer
from pybroker.broker.coordinator.transaction.settings import TransactionSettings
from pybroker.protocol.errors import ErrorCode, KafkaError
from support.in_process.offsets_topic import AwaitedOffsetsTopic, OffsetsTopic
from support.time.loop_turns import let_the_loop_turn
from support.time.virtual_time import VirtualTime

__all__ = ["BROKER_ID", "OTHER_BROKER", "TransactionWorld"]

BROKER_ID, OTHER_BROKER = 1, 2
Written = Callable[[ErrorCode], None]


class TransactionWorld:
    """`markers`: those that this broker was told to write. They are written at once unless `holds_markers`; then the
    test calls the callbacks in `held`. `requests`: those to the other broker, which the test answers.
    """

    def __init__(
        self, settings: TransactionSettings | None = None, partition_count: int = 4, topic: OffsetsTopic | None = None
    ) -> None:
        self.time = VirtualTime()
        self.log = AwaitedOffsetsTopic(topic or OffsetsTopic(partition_count))
        self.leaders: dict[TopicPartition, int | None] = {}
        self.markers: list[tuple[EndMarker, TopicPartition]] = []
        self.holds_markers = False
        self.held: list[Written] = []
        self.requests: list[tuple[Sequence[MarkersToWrite], Callable[[MarkerCodes | None], None]]] = []
        self.next_producer_id = 1000
        self.no_producer_id: KafkaError | None = None
        self.coordinator = TransactionCoordinator(
            settings or TransactionSettings(),
            self.log,
            CoordinatorPorts(
                self.time,
                self.time.now_ms,
                Random(1),
                MarkerPorts(
                    BROKER_ID, lambda partition: self.leaders.get(partition, BROKER_ID), self._write, self._send
                ),
                self._take_producer_id,
                lambda group_id: len(group_id),
                lambda: 0,
            ),
        )

    async def load(self, epoch: int = 0) -> "TransactionWorld":
        """Be elected for every partition."""
        for partition in range(self.log.partition_count):
            await self.coordinator.partitions.load(partition, epoch)
        return self

    async def init(
        self, transactional_id: str, producer: RequestingProducer = NO_PRODUCER, timeout_ms: int = 60_000
    ) -> Response:
        replies: list[Response] = []
        self.coordinator.requests.init_producer_id(transactional_id, InitRequest(timeout_ms, producer), replies.append)
        return await self.first(replies)

    async def producer(self, transactional_id: str) -> RequestingProducer:
        """A started producer."""
        response = await self.init(transactional_id)
        assert response.code is ErrorCode.NONE
        return RequestingProducer(response.producer_id, response.producer_epoch)

    async def add(self, transactional_id: str, producer: RequestingProducer, *partitions: TopicPartition) -> ErrorCode:
        return await self._add(transactional_id, producer, partitions, 0)

    async def add_in_version_2(
        self, transactional_id: str, producer: RequestingProducer, *partitions: TopicPartition
    ) -> ErrorCode:
        """As a leader has partitions added for a producer of transaction version 2."""
        return await self._add(transactional_id, producer, partitions, 2)

    async def _add(
        self,
        transactional_id: str,
        producer: RequestingProducer,
        partitions: Sequence[TopicPartition],
        transaction_version: int,
    ) -> ErrorCode:
        replies: list[Response] = []
        self.coordinator.requests.add_partitions(
            transactional_id, producer, partitions, replies.append, transaction_version=transaction_version
        )
        return (await self.first(replies)).code

    async def end(self, transactional_id: str, producer: RequestingProducer, *, is_commit: bool = True) -> ErrorCode:
        replies: list[Response] = []
        self.coordinator.requests.end(transactional_id, producer, replies.append, is_commit=is_commit)
        return (await self.first(replies)).code

    async def end_and_bump(
        self, transactional_id: str, producer: RequestingProducer, *, is_commit: bool = True
    ) -> Response:
        """EndTxn of a producer of transaction version 2."""
        replies: list[Response] = []
        self.coordinator.requests.end_and_bump(transactional_id, producer, replies.append, is_commit=is_commit)
        return await self.first(replies)

    async def turn(self) -> None:
        """Let appends end and markers be written."""
        for _ in range(3):
            await let_the_loop_turn()
            self.time.advance(0)
        await let_the_loop_turn()

    async def first(self, replies: list[Response]) -> Response:
        """The first reply, once the appends under way have ended."""
        await self.turn()
        assert replies, "no reply"
        return replies[0]

    def state(self, transactional_id: str) -> str:
        return self.coordinator.describe(transactional_id).state

    def _leader_of(self, partition: TopicPartition) -> int | None:
        return self.leaders.get(partition, BROKER_ID)

    def _write(self, marker: EndMarker, partition: TopicPartition, done: Written) -> None:
        self.markers.append((marker, partition))
        if self.holds_markers:
            self.held.append(done)
        else:
            done(ErrorCode.NONE)

    def _send(
        self, broker_id: int, markers: Sequence[MarkersToWrite], answered: Callable[[MarkerCodes | None], None]
    ) -> None:
        assert broker_id == OTHER_BROKER
        self.requests.append((markers, answered))

    def _take_producer_id(self, done: Callable[[int | KafkaError], None]) -> None:
        if self.no_producer_id is not None:
            done(self.no_producer_id)
            return
        self.next_producer_id += 1
        done(self.next_producer_id)
