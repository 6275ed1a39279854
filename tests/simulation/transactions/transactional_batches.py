"""Sends the batches of a transactional producer: one at a time to a partition, with sequence numbers."""

from collections.abc import Sequence

from pybroker.protocol.errors import ErrorCode, error_for
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from simulation.checkers.history import Place
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.transactions.transaction_errors import AbortableError

__all__ = ["TransactionalBatches"]

_REQUEST_TIMEOUT_MS = 1_000
_DELIVERY_TIMEOUTS_S = (2.5, 8.0)
_WALL_CLOCK_START_MS = 1_700_000_000_000
_RETRIED = (ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,)


class TransactionalBatches:
    """`version`: of Produce."""

    def __init__(self, client: ClusterClient, transactional_id: str, version: int) -> None:
        self._client = client
        self._transactional_id = transactional_id
        self._version = version
        self._producer = -1, -1
        self._sequences: dict[Place, int] = {}
        self._delivery_timeout_s = client.random.choice(_DELIVERY_TIMEOUTS_S)

    def begin_anew(self, producer_id: int, producer_epoch: int) -> None:
        """Sequences begin at 0 under a new producer id or epoch."""
        self._producer = producer_id, producer_epoch
        self._sequences.clear()

    async def send(self, place: Place, values: Sequence[bytes]) -> None:
        """Raises AbortableError when the batch is refused, or not acknowledged in time."""
        client = self._client
        sequence = self._sequences.get(place, 0)
        deadline_s = client.loop.time() + self._delivery_timeout_s
        while True:
            code = None
            leader, _ = client.leaders.get(place, (-1, -1))
            try:
                if leader >= 0:
                    code = await self._try(place, values, sequence, leader)
            except UnansweredError:
                pass
            if code is ErrorCode.NONE:
                self._sequences[place] = sequence + len(values)
                return
            if code is not None:
                client.failed(f"transactions: Produce: {code.name}", leader)
                client.note(f"{values[0].decode()}: {code.name} of {leader}")
                if not error_for(code).retriable and code not in _RETRIED:
                    raise AbortableError(code, bumps_epoch=True)
            if client.loop.time() > deadline_s:
                raise AbortableError(code, bumps_epoch=True)
            await client.back_off()
            await client.refresh(place[0])

    async def _try(self, place: Place, values: Sequence[bytes], sequence: int, leader: int) -> ErrorCode:
        topic, partition = place
        producer_id, producer_epoch = self._producer
        now_ms = int(self._client.loop.time() * 1000) + _WALL_CLOCK_START_MS
        records = build_batch(
            [Record(number, now_ms, b"key", value) for number, value in enumerate(values)],
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        request = ProduceRequest(
            transactional_id=self._transactional_id,
            acks=-1,
            timeout_ms=_REQUEST_TIMEOUT_MS,
            topic_data=[
                TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
            ],
        )
        answer = await self._client.ask(leader, request, self._version, _REQUEST_TIMEOUT_MS / 1000 + 1)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)
