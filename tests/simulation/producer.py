"""A producer: sends batches with a given guarantee, tries again as Java's does, and notes what became of each."""

import asyncio

from pybroker.protocol.errors import ErrorCode, error_for
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from simulation.client_link import UnansweredError
from simulation.cluster_client import ClusterClient
from simulation.history import Guarantee, Outcome, Place, Sent, Transaction

__all__ = ["Lane", "Producer", "ProducerIds"]

_PRODUCE_VERSION = 9
_REQUEST_TIMEOUT_MS = 2_000
_DELIVERY_TIMEOUT_S = 15.0
_WALL_CLOCK_START_MS = 1_700_000_000_000


class Producer:
    """One batch at a time to each partition."""

    def __init__(self, client: ClusterClient, guarantee: Guarantee, places: list[Place], pause_s: float) -> None:
        self._client = client
        self._guarantee = guarantee
        self._places = places
        self._pause_s = pause_s
        self._is_over = False

    def stop(self) -> None:
        """No further batch; those under way are finished."""
        self._is_over = True

    async def run(self) -> None:
        await asyncio.gather(*(self._run_one(place) for place in self._places))

    async def _run_one(self, place: Place) -> None:
        ids = ProducerIds(self._client)
        lane = Lane(self._client, self._guarantee, place, ids)
        random = self._client.random
        while not self._is_over:
            await asyncio.sleep(random.uniform(0, 2 * self._pause_s))
            if self._guarantee is not Guarantee.ONCE or await ids.learn(place[0]):
                await lane.send(random.choice((1, 1, 2, 5)))


class ProducerIds:
    """The id and epoch by which brokers know an idempotent producer; −1 while it has none."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self.producer_id = -1
        self.producer_epoch = -1

    async def learn(self, topic: str) -> bool:
        """Whether it has one now."""
        if self.producer_id >= 0:
            return True
        try:
            answer = await self._client.ask_any(InitProducerIdRequest(transactional_id=None), 4)
        except UnansweredError:
            await self._client.back_off()
            await self._client.refresh(topic)
            return False
        if answer.error_code:
            await self._client.back_off()
            return False
        self.producer_id, self.producer_epoch = answer.producer_id, answer.producer_epoch
        return True

    def forget(self) -> None:
        """What became of its sequence numbers is not known."""
        self.producer_id = -1


class Lane:
    """A producer's way to one partition."""

    def __init__(self, client: ClusterClient, guarantee: Guarantee, place: Place, ids: ProducerIds) -> None:
        self._client = client
        self._guarantee = guarantee
        self._place = place
        self._ids = ids
        self._count = 0
        self._sequence_of = -1  # the producer id that `_sequence` belongs to
        self._sequence = 0

    async def send(self, size: int, transaction: Transaction | None = None) -> Sent:
        """A batch of ``size`` records, delivered or given up."""
        client, place = self._client, self._place
        values = self._values(size)
        sent = Sent(client.name, self._count, place, values, self._guarantee, client.loop.time())
        if transaction is not None:
            transaction.sent.append(sent)
            client.history.transactions.update(dict.fromkeys(values, transaction))
        if self._sequence_of != self._ids.producer_id:
            self._sequence_of, self._sequence = self._ids.producer_id, 0
        client.history.sent.append(sent)
        await self._deliver(sent)
        sent.done_s = client.loop.time()
        client.history.counts[f"{sent.guarantee.value}: {sent.outcome.value}"] += 1
        client.note(f"{sent.values[0].decode()}+{size} {sent.outcome.value} at {sent.base_offset}")
        if sent.outcome is Outcome.ACKNOWLEDGED:
            self._sequence += size
        elif self._guarantee is Guarantee.ONCE:
            self._ids.forget()
        return sent

    def _values(self, size: int) -> tuple[bytes, ...]:
        """Each like no other of this cluster."""
        client, (topic, partition) = self._client, self._place
        self._count = client.next_number(self._place)
        return tuple(f"{client.name}/{topic}-{partition}/{self._count}/{index}".encode() for index in range(size))

    async def _deliver(self, sent: Sent) -> None:
        client = self._client
        deadline_s = sent.sent_s + _DELIVERY_TIMEOUT_S
        was_unanswered = False
        while True:
            leader, epoch = client.leaders.get(sent.place, (-1, -1))
            try:
                if leader < 0:
                    raise UnansweredError("no leader")
                sent.attempts += 1
                code = await self._try(sent, leader)
            except UnansweredError:
                was_unanswered = was_unanswered or leader >= 0
                code = None
            if code is ErrorCode.NONE:
                sent.outcome = Outcome.ACKNOWLEDGED
                sent.leader_id = leader
                return
            if code is not None:
                client.note(f"{sent.values[0].decode()}: {code.name} of {leader}, epoch {epoch}")
                client.failed(f"produce: {code.name}", leader)
                was_unanswered = was_unanswered or code in _MAY_BE_THERE
                if not error_for(code).retriable and code not in _RETRIED:
                    self._refused(sent, code)
                    return
            if client.loop.time() > deadline_s or self._guarantee is Guarantee.NONE:
                sent.outcome = Outcome.UNKNOWN if was_unanswered else Outcome.REFUSED
                if leader < 0 or code is None:
                    await client.refresh(sent.place[0])
                return
            await client.back_off()
            await client.refresh(sent.place[0])

    def _refused(self, sent: Sent, code: ErrorCode) -> None:
        """For good. The first attempt may have come through, all the same."""
        sent.outcome = Outcome.UNKNOWN if sent.attempts > 1 else Outcome.REFUSED
        if self._guarantee in (Guarantee.ONCE, Guarantee.TRANSACTION) and code is not ErrorCode.INVALID_TIMESTAMP:
            self._client.history.suspicions.append(
                (sent.place, f"{sent.values[0].decode()}, the next in its sequence, was refused: {code.name}")
            )

    async def _try(self, sent: Sent, leader: int) -> ErrorCode:
        topic, partition = sent.place
        now_ms = int(self._client.loop.time() * 1000) + _WALL_CLOCK_START_MS
        has_sequence = self._guarantee in (Guarantee.ONCE, Guarantee.TRANSACTION)
        records = build_batch(
            [Record(offset, now_ms, b"key", value) for offset, value in enumerate(sent.values)],
            producer_id=self._ids.producer_id if has_sequence else -1,
            producer_epoch=self._ids.producer_epoch if has_sequence else -1,
            base_sequence=self._sequence if has_sequence else -1,
            is_transactional=self._guarantee is Guarantee.TRANSACTION,
        )
        request = ProduceRequest(
            transactional_id=self._client.name if self._guarantee is Guarantee.TRANSACTION else None,
            acks=sent.guarantee.acks,
            timeout_ms=_REQUEST_TIMEOUT_MS,
            topic_data=[
                TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
            ],
        )
        if sent.guarantee is Guarantee.NONE:
            await self._client.tell(leader, request, _PRODUCE_VERSION)
            return ErrorCode.NONE
        answer = await self._client.ask(leader, request, _PRODUCE_VERSION, _REQUEST_TIMEOUT_MS / 1000 + 1)
        result = answer.responses[0].partition_responses[0]
        sent.base_offset = result.base_offset if result.error_code == 0 else -1
        return ErrorCode(result.error_code)


_RETRIED = (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,)
_MAY_BE_THERE = (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.REQUEST_TIMED_OUT)
