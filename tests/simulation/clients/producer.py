"""A producer that sends batches with a given guarantee, retries like Kafka's Java client, and records outcomes."""

import asyncio
from bisect import insort

from pybroker.protocol.errors import ErrorCode, error_for
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from simulation.checkers.history import IN_SEQUENCE, Acknowledged, Guarantee, Outcome, Place, Sent, Transaction
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient

__all__ = ["Lane", "PipelinedLane", "Producer", "ProducerIds", "says_nothing_is_written"]

_PRODUCE_VERSION = 9
_REQUEST_TIMEOUT_MS = 2_000
_DELIVERY_TIMEOUT_S = 15.0
_WALL_CLOCK_START_MS = 1_700_000_000_000


class Producer:
    """Sends batches to each partition: one in flight at a time, or several if it is idempotent."""

    def __init__(self, client: ClusterClient, guarantee: Guarantee, places: list[Place], pause_s: float) -> None:
        self._client = client
        self._guarantee = guarantee
        self._places = places
        self._pause_s = pause_s
        self._is_over = False

    def stop(self) -> None:
        """Send no further batches; batches in flight are completed."""
        self._is_over = True

    async def run(self) -> None:
        run_one = self._run_idempotent if self._guarantee is Guarantee.ONCE else self._run_one
        await asyncio.gather(*(run_one(place) for place in self._places))

    async def _run_one(self, place: Place) -> None:
        lane = Lane(self._client, self._guarantee, place, ProducerIds(self._client))
        random = self._client.random
        while not self._is_over:
            await asyncio.sleep(random.uniform(0, 2 * self._pause_s))
            await lane.send(random.choice(_SIZES))

    async def _run_idempotent(self, place: Place) -> None:
        ids = ProducerIds(self._client)
        random = self._client.random
        async with asyncio.TaskGroup() as deliveries:
            lane = PipelinedLane(self._client, place, ids, deliveries)
            while not self._is_over:
                await asyncio.sleep(random.uniform(0, 2 * _BURST_MEAN * self._pause_s))
                if await ids.learn(place[0]):
                    await self._burst(lane, random.choice(_BURSTS))

    async def _burst(self, lane: "PipelinedLane", count: int) -> None:
        """Send batches back to back while the lane accepts them."""
        for _ in range(count):
            if self._is_over or not await lane.put(self._client.random.choice(_SIZES)):
                return


class ProducerIds:
    """The id and epoch of an idempotent producer; −1 while it has none."""

    def __init__(self, client: ClusterClient) -> None:
        self._client = client
        self.producer_id = -1
        self.producer_epoch = -1

    async def learn(self, topic: str) -> bool:
        """Returns whether the producer has an id now."""
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
        """Forget the producer id because the fate of its sequence numbers is unknown."""
        self.producer_id = -1

    def bump(self) -> None:
        """Start again with the next epoch, which fences batches in flight (KIP-360)."""
        self.producer_epoch += 1


class Lane:
    """A producer's batches to one partition, one at a time."""

    def __init__(self, client: ClusterClient, guarantee: Guarantee, place: Place, ids: ProducerIds) -> None:
        self._client = client
        self._guarantee = guarantee
        self._place = place
        self._ids = ids
        self._count = 0
        self._sequence = 0
        self._acknowledged: list[Sent] = []
        """Acknowledged batches of this sequence, ordered by number. Retries may be acknowledged after later batches."""
        self._last_leader_id = -1
        """The broker that last acknowledged a batch."""

    async def send(self, size: int, transaction: Transaction | None = None) -> Sent:
        """Send a batch of ``size`` records; returns when it is delivered or given up."""
        sent = self._begin(size)
        if transaction is not None:
            transaction.sent.append(sent)
            self._client.history.transactions.update(dict.fromkeys(sent.values, transaction))
        await self._deliver(sent)
        return sent

    def _begin(self, size: int) -> Sent:
        client = self._client
        values = self._values(size)
        sent = Sent(client.name, self._count, self._place, values, self._guarantee, client.loop.time())
        if self._guarantee in IN_SEQUENCE:
            sent.sequence = self._sequence
            self._sequence += size
        client.history.sent.append(sent)
        return sent

    async def _deliver(self, sent: Sent) -> None:
        client = self._client
        await self._try_until_done(sent)
        sent.done_s = client.loop.time()
        if sent.outcome is Outcome.ACKNOWLEDGED:
            self._last_leader_id = sent.leader_id
            insort(self._acknowledged, sent, key=lambda each: each.number)
        client.history.counts[f"{sent.guarantee.value}: {sent.outcome.value}"] += 1
        client.note(f"{sent.values[0].decode()}+{len(sent.values)} {sent.outcome.value} at {sent.base_offset}")

    def _was_refused(self, sent: Sent, code: ErrorCode, leader: int) -> None:
        """Called with every error that a leader answers."""

    def _is_to_be_sent_again(self, sent: Sent) -> None:
        """Called when a batch will be retried."""

    async def _turn(self, sent: Sent) -> None:
        """Wait until the batch may be retried."""

    def _is_next(self, sent: Sent) -> bool:
        """Whether all earlier batches of its sequence are acknowledged."""
        return True

    def _is_behind_a_gap(self, sent: Sent) -> bool:
        """Whether an earlier batch was given up, so this one will probably never be next."""
        return False

    def _values(self, size: int) -> tuple[bytes, ...]:
        """Values that are unique in this cluster."""
        client, (topic, partition) = self._client, self._place
        self._count = client.next_number(self._place)
        return tuple(f"{client.name}/{topic}-{partition}/{self._count}/{index}".encode() for index in range(size))

    async def _try_until_done(self, sent: Sent) -> None:
        client = self._client
        deadline_s = sent.sent_s + _DELIVERY_TIMEOUT_S
        while True:
            leader, epoch = client.leaders.get(sent.place, (-1, -1))
            is_next = self._is_next(sent)
            try:
                if leader < 0:
                    raise UnansweredError("no leader")
                sent.attempts += 1
                sent.maybe_taken += 1
                sent.asked_s = client.loop.time()
                sent.known_epoch = client.known_epoch(leader, sent.place)
                code = await self._try(sent, leader)
            except UnansweredError:
                code = None
            if code is ErrorCode.NONE:
                sent.outcome = Outcome.ACKNOWLEDGED
                sent.leader_id = leader
                return
            if code is not None:
                client.note(f"{sent.values[0].decode()}: {code.name} of {leader}, epoch {epoch}")
                client.failed(f"produce: {code.name}", leader)
                self._was_refused(sent, code, leader)
                sent.maybe_taken -= says_nothing_is_written(code, sent.guarantee)
                if self._is_final(sent, code, is_next=is_next):
                    return
            if client.loop.time() > deadline_s or self._guarantee is Guarantee.NONE:
                sent.outcome = Outcome.UNKNOWN if sent.maybe_taken else Outcome.REFUSED
                if leader < 0 or code is None:
                    await client.refresh(sent.place[0])
                return
            self._is_to_be_sent_again(sent)
            await client.back_off()
            await client.refresh(sent.place[0])
            await self._turn(sent)

    def _is_final(self, sent: Sent, code: ErrorCode, *, is_next: bool) -> bool:
        """Whether the batch was refused permanently. (An earlier attempt may have been stored all the same.)"""
        if error_for(code).retriable or code in _RETRIED:
            return False
        is_early = code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not is_next
        if is_early and not self._is_behind_a_gap(sent):
            return False
        sent.outcome = Outcome.UNKNOWN if sent.maybe_taken else Outcome.REFUSED
        if self._guarantee in IN_SEQUENCE and not is_early and code is not ErrorCode.INVALID_TIMESTAMP:
            told = f"{sent.values[0].decode()}, the next in its sequence, was refused: {code.name}"
            before = [each.acknowledged for each in self._acknowledged if each.number < sent.number]
            lost = before[-1] if before else None
            if not self._may_be_forgotten(sent, code, lost):
                self._client.history.suspect(sent.place, told, lost, is_refusal=True)
        return True

    def _may_be_forgotten(self, sent: Sent, code: ErrorCode, last: Acknowledged | None) -> bool:
        """Whether a leader, like Kafka's, may know too little of the producer because records were deleted.

        A restarted leader reads the producer's last five batches from the log, so a retry of a deleted batch looks
        out of order. A follower that starts fetching between a transaction's last batch and its marker knows the
        producer, but none of its sequence numbers.
        """
        history = self._client.history
        if sent.maybe_taken and history.may_be_trimmed(sent.place, 1):
            return True
        has_markers = self._guarantee is Guarantee.TRANSACTION and code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        return has_markers and last is not None and history.may_be_trimmed(sent.place, last.last_offset + 1)

    async def _try(self, sent: Sent, leader: int) -> ErrorCode:
        topic, partition = sent.place
        now_ms = int(self._client.loop.time() * 1000) + _WALL_CLOCK_START_MS
        has_sequence = self._guarantee in IN_SEQUENCE
        records = build_batch(
            [Record(offset, now_ms, b"key", value) for offset, value in enumerate(sent.values)],
            producer_id=self._ids.producer_id if has_sequence else -1,
            producer_epoch=self._ids.producer_epoch if has_sequence else -1,
            base_sequence=sent.sequence,
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


class PipelinedLane(Lane):
    """An idempotent producer's batches to one partition, up to five in flight.

    Refused or unanswered batches are retried in sequence order, one at a time, before any new batch. A batch that
    overtakes an earlier one gets OUT_OF_ORDER_SEQUENCE_NUMBER and is retried later; behind one that the same leader has
    refused it must get the same error, because librdkafka begins a new epoch otherwise and sends records twice.

    A batch that is given up leaves a gap: when no batch is in flight any more, a new sequence begins. Kafka's Java
    client does the same (RecordAccumulator, TransactionManager), but gives new sequence numbers to batches after the
    gap.
    """

    def __init__(self, client: ClusterClient, place: Place, ids: ProducerIds, deliveries: asyncio.TaskGroup) -> None:
        super().__init__(client, Guarantee.ONCE, place, ids)
        self._deliveries = deliveries
        self._under_way: list[Sent] = []
        """Batches in flight, in sequence order."""
        self._once_more: list[Sent] = []
        """Batches that wait for their retry."""
        self._has_gap = False
        self._changed = asyncio.Event()
        self._refused_by: dict[int, int] = {}
        """The leader that refused a batch for a passing reason, by the batch's number."""

    async def put(self, size: int) -> bool:
        """Deliver a batch of ``size`` records when the window allows it. Returns False if the sequence has ended."""
        while not self._has_gap and (self._once_more or self._span() >= self._window()):
            await self._changed.wait()
        if self._has_gap:
            await self._begin_anew()
            return False
        sent = self._begin(size)
        self._client.history.counts["idempotent: sent behind others that were on their way"] += bool(self._under_way)
        self._under_way.append(sent)
        self._deliveries.create_task(self._carry(sent))
        return True

    def _span(self) -> int:
        """The number of batches from the first in flight to the last sent.

        Batches acknowledged meanwhile count too: a broker remembers five, and another leader may have acknowledged
        them than the one that does not respond.
        """
        return self._count - self._under_way[0].number + 1 if self._under_way else 0

    def _window(self) -> int:
        """The number of batches that may be in flight.

        A leader that does not know the producer accepts any sequence number as its first. So one batch must be
        acknowledged before several are sent; again for each new leader if deletions may have left it only the log's
        end.
        """
        place = self._place
        if not self._acknowledged:
            return 1
        has_moved = self._last_leader_id != self._client.leaders.get(place, (-1, -1))[0]
        return 1 if has_moved and self._client.history.may_be_trimmed(place, 1) else _IN_FLIGHT

    async def _begin_anew(self) -> None:
        while self._under_way:
            await self._changed.wait()
        if self._client.random.random() < 0.5:
            self._ids.forget()
        else:
            self._ids.bump()
        self._has_gap, self._sequence = False, 0
        self._acknowledged.clear()

    async def _carry(self, sent: Sent) -> None:
        await self._deliver(sent)
        self._has_gap = self._has_gap or sent.outcome is not Outcome.ACKNOWLEDGED
        self._under_way.remove(sent)
        self._wake()

    def _was_refused(self, sent: Sent, code: ErrorCode, leader: int) -> None:
        if code in (ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.NOT_ENOUGH_REPLICAS):
            self._refused_by[sent.number] = leader
        if code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER:
            earlier = [each for each in self._under_way if each.number < sent.number]
            if any(self._refused_by.get(each.number) == leader for each in earlier):
                told = f"{sent.values[0].decode()} was out of order for {leader}, which had refused the batch before it"
                self._client.history.suspect(sent.place, told, None)

    def _is_to_be_sent_again(self, sent: Sent) -> None:
        self._once_more.append(sent)

    async def _turn(self, sent: Sent) -> None:
        while self._under_way[0] is not sent:
            await self._changed.wait()
        self._once_more.remove(sent)
        self._wake()

    def _wake(self) -> None:
        """Wake all waiting tasks, which check their conditions again."""
        self._changed.set()
        self._changed = asyncio.Event()

    def _is_next(self, sent: Sent) -> bool:
        return self._under_way[0] is sent and not self._has_gap

    def _is_behind_a_gap(self, sent: Sent) -> bool:
        return self._under_way[0] is sent and self._has_gap


_SIZES = (1, 1, 2, 5)
"""Records in a batch."""
_BURSTS = (1, 1, 2, 4, 7)
_BURST_MEAN = 3.0
_IN_FLIGHT = 5
"""max.in.flight.requests.per.connection."""
_RETRIED = (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,)
_BEFORE_AN_APPEND = (
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.INVALID_RECORD,
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_TXN_STATE,
)
_BEFORE_IT_OR_WHILE_REPLICAS_ARE_AWAITED = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def says_nothing_is_written(code: ErrorCode, guarantee: Guarantee) -> bool:
    """Whether Kafka gives this error only before it writes, so that any copies come from other attempts.

    These errors leave it open:
    - NOT_ENOUGH_REPLICAS_AFTER_APPEND and REQUEST_TIMED_OUT: the batch is written.
    - KAFKA_STORAGE_ERROR: the write or the log directory may have failed at any moment.
    - With acks=all, NOT_LEADER_OR_FOLLOWER and UNKNOWN_TOPIC_OR_PARTITION: the partition may have moved while the
      request waited for replicas.
    - Any error that is not listed here.
    """
    return code in _BEFORE_AN_APPEND or (
        guarantee is Guarantee.LEADER and code in _BEFORE_IT_OR_WHILE_REPLICAS_ARE_AWAITED
    )
