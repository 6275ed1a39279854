"""A transactional producer and its coordinator, which stands in for an Apache Kafka broker in the same cluster.

Records go to several partitions. Then the result is decided, and markers are written (WriteTxnMarkers) until every
leader has accepted them. If a response is missing, the transaction is aborted under the next producer epoch, which
fences everything in flight, and the next transaction gets another producer id.
"""

import asyncio

from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from simulation.checkers.history import Guarantee, Outcome, Place, Transaction
from simulation.clients.client_link import UnansweredError
from simulation.clients.cluster_client import ClusterClient
from simulation.clients.producer import Lane, ProducerIds

__all__ = ["TransactionalProducer"]

_MARKERS_VERSION = 1
_COORDINATOR_EPOCH = 0
_ABORTED_SHARE = 0.3


class TransactionalProducer:
    """Runs one transaction after another, of up to three batches each."""

    def __init__(self, client: ClusterClient, places: list[Place], pause_s: float) -> None:
        self._client = client
        self._places = places
        self._pause_s = pause_s
        self._ids = ProducerIds(client)
        self._lanes: dict[Place, Lane] = {}
        self._is_over = False

    def stop(self) -> None:
        self._is_over = True

    async def run(self) -> None:
        random = self._client.random
        while not self._is_over:
            await asyncio.sleep(random.uniform(0, 2 * self._pause_s))
            if await self._ids.learn(self._places[0][0]):
                await self._transact()

    async def _transact(self) -> None:
        client, ids, random = self._client, self._ids, self._client.random
        transaction = Transaction(ids.producer_id)
        places = [random.choice(self._places) for _ in range(random.randint(1, 3))]
        for place in places:
            lane = self._lanes.get(place)
            if lane is None:
                lane = self._lanes[place] = Lane(client, Guarantee.TRANSACTION, place, ids)
            sent = await lane.send(random.choice((1, 2, 5)), transaction)
            if sent.outcome is not Outcome.ACKNOWLEDGED:
                break
        is_whole = all(sent.outcome is Outcome.ACKNOWLEDGED for sent in transaction.sent)
        transaction.is_committed = is_whole and random.random() > _ABORTED_SHARE
        await self._write_markers(transaction, ids.producer_epoch if is_whole else ids.producer_epoch + 1)
        client.history.ended_transactions.append(transaction)
        client.history.counts[f"transactions: {'committed' if transaction.is_committed else 'aborted'}"] += 1
        if not is_whole:
            ids.forget()
            self._lanes.clear()

    async def _write_markers(self, transaction: Transaction, producer_epoch: int) -> None:
        for place in dict.fromkeys(sent.place for sent in transaction.sent):
            while not await self._is_marked(transaction, producer_epoch, place):
                await self._client.back_off()
                await self._client.refresh(place[0])

    async def _is_marked(self, transaction: Transaction, producer_epoch: int, place: Place) -> bool:
        client = self._client
        marker = WritableTxnMarker(
            producer_id=transaction.producer_id,
            producer_epoch=producer_epoch,
            transaction_result=transaction.is_committed,
            topics=[WritableTxnMarkerTopic(name=place[0], partition_indexes=[place[1]])],
            coordinator_epoch=_COORDINATOR_EPOCH,
        )
        leader, _ = client.leaders.get(place, (-1, -1))
        known_epoch, asked_s = client.known_epoch(leader, place), client.loop.time()
        try:
            answer = await client.ask(leader, WriteTxnMarkersRequest(markers=[marker]), _MARKERS_VERSION)
        except UnansweredError:
            return False
        code = ErrorCode(answer.markers[0].topics[0].partitions[0].error_code)
        if code is ErrorCode.NONE:
            transaction.ends[place] = client.acknowledged(leader, place, known_epoch, asked_s)
            return True
        client.note(f"marker of {transaction.producer_id} at {place}: {code.name} of {leader}")
        client.failed(f"marker: {code.name}", leader)
        return False
