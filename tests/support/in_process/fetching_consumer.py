"""A consumer in the process: sends Fetch to the handler over real logs, and decodes the responses."""

import asyncio
from collections.abc import Sequence
from itertools import count
from uuid import UUID

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.records.fetch import MAX_WAITING_BYTES, Fetch
from pybroker.broker.requests.context import RequestContext
from pybroker.broker.requests.throttling import Throttling
from pybroker.protocol.codec import decode, encode, encode_parts
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from pybroker.protocol.records.compression import Codec
from pybroker.replication.leader.fetch_session import FetchSessions
from pybroker.storage.files.files import FileRegion
from support.in_process.replicas import TOPIC, TOPIC_ID, TP, FixedHints, Replicas, batch_of, request_context, values_in

LATEST_VERSION = 17
BIG = 1 << 20


class Consumer:
    """A broker and its Fetch handler."""

    def __init__(
        self,
        replicas: Replicas,
        max_bytes: int = 55 << 20,
        max_waiting_bytes: int = MAX_WAITING_BYTES,
        throttling: Throttling | None = None,
    ) -> None:
        self.replicas = replicas
        self.hints = FixedHints()
        ids = count(1)
        self.sessions = FetchSessions(10, lambda: next(ids))
        self.handler = Fetch(
            replicas.partitions,
            self.sessions,
            self.hints,
            self.hints,
            max_bytes=max_bytes,
            max_waiting_bytes=max_waiting_bytes,
            run_in_pool=replicas.run_in_pool,
        )
        self.handler.throttling = throttling

    def send(
        self,
        *offsets: int,
        version: int = 12,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        max_bytes: int = BIG,
        partition_max_bytes: int = BIG,
        isolation_level: int = 0,
        session: tuple[int, int] = (0, -1),
        replica_id: int = -1,
        leader_epoch: int = -1,
        last_fetched_epoch: int = -1,
        partitions: Sequence[int] | None = None,
        forgotten: Sequence[int] = (),
        topic: str = TOPIC,
        topic_id: UUID = TOPIC_ID,
        context: RequestContext | None = None,
    ) -> object:
        """Fetch partitions 0, 1, ... of the topic (or ``partitions``) from ``offsets``; what the handler returns."""
        identity = {"topic_id": topic_id} if version >= 13 else {"topic": topic}
        numbers = range(len(offsets)) if partitions is None else partitions
        wanted = [
            FetchPartition(
                partition=number,
                fetch_offset=offset,
                partition_max_bytes=partition_max_bytes,
                current_leader_epoch=leader_epoch if version >= 9 else -1,
                last_fetched_epoch=last_fetched_epoch if version >= 12 else -1,
            )
            for number, offset in zip(numbers, offsets, strict=True)
        ]
        request = FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=isolation_level,
            session_id=session[0],
            session_epoch=session[1],
            topics=[FetchTopic(partitions=wanted, **identity)] if wanted else [],
            forgotten_topics_data=[ForgottenTopic(partitions=list(forgotten), **identity)] if forgotten else [],
        )
        if version >= 15:
            request.replica_state = ReplicaState(replica_id=replica_id)
        else:
            request.replica_id = replica_id
        self.context = context or request_context(version)
        return self.handler(self.context, decode(FetchRequest, encode(request, version), version))

    def answer(self, *offsets: int, version: int = 12, **fields: object) -> FetchResponse:
        """The response that comes at once, as it arrives at a client of that version."""
        return received(self.send(*offsets, version=version, **fields), version)  # type: ignore[arg-type]

    def partition(self, offset: int, version: int = 12, **fields: object) -> PartitionData:
        ((data,),) = [topic.partitions for topic in self.answer(offset, version=version, **fields).responses]
        return data

    def produce(self, *values: bytes, topic_partition: TopicPartition = TP, codec: Codec = Codec.NONE) -> int:
        """One batch; its size."""
        batch = batch_of(*values, codec=codec)
        (result,) = self.replicas.append(batch, topic_partition)
        assert result.error is ErrorCode.NONE
        return len(batch)


async def next_turn() -> None:
    """Wait for the next loop iteration, in which a fetch that has enough is answered."""
    await asyncio.sleep(0)


def received(answer: object, version: int) -> FetchResponse:
    if isinstance(answer, asyncio.Future):  # converted by a pool, which here has done it at once
        answer = answer.result()
    assert isinstance(answer, FetchResponse), answer
    parts = [part.read() if isinstance(part, FileRegion) else bytes(part) for part in encode_parts(answer, version)]  # type: ignore[arg-type]
    return decode(FetchResponse, b"".join(parts), version)


def values_by_partition(response: FetchResponse) -> list[list[bytes | None]]:
    return [values_in(data.records) for topic in response.responses for data in topic.partitions]
