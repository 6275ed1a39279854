"""Members of a share group in the process: they send ShareFetch and ShareAcknowledge to the handlers over real logs."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.records.parked_fetches import ParkedFetches
from pybroker.broker.apis.share.fetch_params import ShareFetchHandlerParts
from pybroker.broker.apis.share.fetch_response import FetchResponses
from pybroker.broker.apis.share.share_acknowledge import ShareAcknowledge
from pybroker.broker.apis.share.share_fetch import ShareFetch
from pybroker.broker.coordinator.share.ports import SharePartitionKey, StateRead, StateSummary, StateWrite
from pybroker.broker.network.request import ConnectionInfo
from pybroker.broker.requests.context import Authorizer, RequestContext
from pybroker.broker.share.fetched_records import ShareFetchParts
from pybroker.broker.share.first_offset import first_offset
from pybroker.broker.share.partition_memory import ShareMemory
from pybroker.broker.share.ports import SharePorts
from pybroker.broker.share.settings import ShareSettings
from pybroker.broker.share.share_partitions import SharePartitions
from pybroker.protocol.codec import decode, encode, encode_parts
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import share_acknowledge, share_fetch
from pybroker.protocol.messages.share_acknowledge import ShareAcknowledgeRequest, ShareAcknowledgeResponse
from pybroker.protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from pybroker.protocol.sentinels import EARLIEST
from pybroker.storage.files.files import FileRegion
from support.in_process.replicas import NOW_MS, TOPIC_ID, TP, FixedHints, Replicas, batch_of, offsets_and_values
from support.time.virtual_time import VirtualTime

LOCK_MS = 30_000
Acknowledged = tuple[int, int, list[int]]


class MemoryShareState:
    """The stored state of share partitions. ``answers`` waits while ``is_held``; ``code`` is what writes get."""

    def __init__(self) -> None:
        self.states: dict[SharePartitionKey, StateRead] = {}
        self.writes: list[StateWrite] = []
        self.code = ErrorCode.NONE
        self.is_held = False
        self.answers: list[Callable[[], None]] = []

    def release(self) -> None:
        """Give the answers that were held."""
        answers, self.answers, self.is_held = self.answers, [], False
        for answer in answers:
            answer()

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Callable[[ErrorCode], None]
    ) -> None:
        self.states[key] = StateRead(state_epoch, start_offset, ())
        done(ErrorCode.NONE)

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateRead | ErrorCode], None]) -> None:
        found: StateRead | ErrorCode = self.states.get(key, StateRead(1, -1, ()))
        self._answer(partial(done, self.code or found))

    def write(self, key: SharePartitionKey, write: StateWrite, done: Callable[[ErrorCode], None]) -> None:
        if self.code is ErrorCode.NONE:
            self.writes.append(write)
        self._answer(partial(done, self.code))

    def delete(self, key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        self.states.pop(key, None)
        done(ErrorCode.NONE)

    def read_summary(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateSummary | ErrorCode], None]
    ) -> None:
        raise NotImplementedError

    def _answer(self, answer: Callable[[], None]) -> None:
        if self.is_held:
            self.answers.append(answer)
        else:
            answer()


class ShareWorld:
    """A broker with the handlers. ``time`` is the clock of locks; fetches wait on the loop."""

    def __init__(
        self,
        replicas: Replicas,
        *,
        max_sessions: int = 10,
        max_partitions: int = 1000,
        authorizer: Authorizer | None = None,
    ) -> None:
        self.replicas = replicas
        self.hints = FixedHints()
        self.state = MemoryShareState()
        self.time = VirtualTime()
        self.memory = ShareMemory(1 << 28, asyncio.get_running_loop())
        self.settings = ShareSettings(LOCK_MS, 200, 5, reset_timestamp=EARLIEST)
        self.authorizer = authorizer
        find_first = partial(first_offset, replicas.partitions, lambda: NOW_MS)
        self.shares = SharePartitions(
            replicas.partitions,
            SharePorts(self.state, self.time, find_first, self.memory),
            lambda group_id: self.settings,
            max_sessions=max_sessions,
            max_partitions=max_partitions,
        )
        self.parked = ParkedFetches(1 << 20)
        self.fetching = ShareFetchParts(
            replicas.partitions.reads,
            asyncio.get_running_loop(),
            self.memory,
            lambda active: replicas.hosted(active.place.topic_partition).log.log_start_offset,
        )
        responses = FetchResponses(self.shares, replicas.partitions, self.hints, None)
        self.fetch_handler = ShareFetch(
            ShareFetchHandlerParts(self.shares, self.hints, self.fetching, responses, self.parked, None, 55 << 20)
        )
        self.acknowledge_handler = ShareAcknowledge(self.shares, replicas.partitions, self.hints)

    def produce(self, *values: bytes, topic_partition: TopicPartition = TP) -> None:
        (result,) = self.replicas.append(batch_of(*values), topic_partition)
        assert result.error is ErrorCode.NONE


class ShareMember:
    """A member with its connection, which counts the epochs of its session."""

    def __init__(self, world: ShareWorld, member_id: str = "a", group_id: str = "g") -> None:
        self.world = world
        self.member_id = member_id
        self.group_id = group_id
        self.epoch = 0
        self.connection = ConnectionInfo("PLAINTEXT", "PLAINTEXT", ("10.0.0.1", 9092), ("10.0.0.9", 50000))
        self.context = self._context(2)

    def send(
        self,
        *partitions: int,
        said: Sequence[Acknowledged] = (),
        version: int = 2,
        epoch: int | None = None,
        max_wait_ms: int = 0,
        max_records: int = 500,
        acquire_mode: int = 0,
        is_renew_ack: bool = False,
        forgotten: Sequence[int] = (),
        topic_id: UUID = TOPIC_ID,
    ) -> object:
        """Fetch, with ``said`` about partition 0; what the handler returns."""
        wanted = {index: share_fetch.FetchPartition(partition_index=index) for index in partitions}
        if said:
            wanted.setdefault(0, share_fetch.FetchPartition()).acknowledgement_batches = [
                share_fetch.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
                for first, last, types in said
            ]
        topics = [share_fetch.FetchTopic(topic_id=topic_id, partitions=list(wanted.values()))] if wanted else []
        request = ShareFetchRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            share_session_epoch=self._epoch(epoch),
            max_wait_ms=max_wait_ms,
            min_bytes=0 if is_renew_ack else 1,
            max_bytes=0 if is_renew_ack else 1 << 20,
            max_records=0 if is_renew_ack else max_records,
            batch_size=max_records,
            share_acquire_mode=acquire_mode,
            topics=topics,
            forgotten_topics_data=[share_fetch.ForgottenTopic(topic_id=topic_id, partitions=list(forgotten))]
            if forgotten
            else [],
        )
        if version >= 2:
            request.is_renew_ack = is_renew_ack
        self.context = self._context(version)
        return self.world.fetch_handler(self.context, decode(ShareFetchRequest, encode(request, version), version))

    async def fetch(self, *partitions: int, version: int = 2, **fields: object) -> ShareFetchResponse:
        """The response as it arrives at a client."""
        return await received(self.send(*partitions, version=version, **fields), version)  # type: ignore[arg-type]

    async def offsets(self, *partitions: int, **fields: object) -> list[int]:
        """Fetch; the offsets of the records that the member gets, of all partitions."""
        response = await self.fetch(*partitions, **fields)  # type: ignore[arg-type]
        return acquired_offsets(response)

    async def acknowledge(
        self, *said: Acknowledged, epoch: int | None = None, version: int = 2, is_renew_ack: bool = False
    ) -> ShareAcknowledgeResponse:
        """ShareAcknowledge for partition 0."""
        data = share_acknowledge.AcknowledgePartition(
            acknowledgement_batches=[
                share_acknowledge.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types)
                for first, last, types in said
            ]
        )
        topics = [share_acknowledge.AcknowledgeTopic(topic_id=TOPIC_ID, partitions=[data])] if said else []
        request = ShareAcknowledgeRequest(
            group_id=self.group_id, member_id=self.member_id, share_session_epoch=self._epoch(epoch), topics=topics
        )
        if version >= 2:
            request.is_renew_ack = is_renew_ack
        answer = self.world.acknowledge_handler(self._context(version), request)
        response = answer if isinstance(answer, ShareAcknowledgeResponse) else await answer
        return decode(ShareAcknowledgeResponse, encode(response, version), version)

    def disconnect(self) -> None:
        """The connection is lost."""
        if self.context.abandon is not None:
            self.context.abandon()
        if self.connection.when_closed is not None:
            self.connection.when_closed()

    def _epoch(self, epoch: int | None) -> int:
        if epoch is not None:
            return epoch
        self.epoch += 1
        return self.epoch - 1

    def _context(self, version: int) -> RequestContext:
        return RequestContext(version, 42, "client", self.connection, NOW_MS, authorizer=self.world.authorizer)


async def received(answer: object, version: int) -> ShareFetchResponse:
    response = answer if isinstance(answer, ShareFetchResponse) else await answer  # type: ignore[misc]
    parts = [part.read() if isinstance(part, FileRegion) else bytes(part) for part in encode_parts(response, version)]  # type: ignore[arg-type]
    return decode(ShareFetchResponse, b"".join(parts), version)


def acquired_offsets(response: ShareFetchResponse) -> list[int]:
    """The offsets of the records in a response that the member holds."""
    found = []
    for topic in response.responses:
        for data in topic.partitions:
            held = {
                offset for each in data.acquired_records for offset in range(each.first_offset, each.last_offset + 1)
            }
            found += [offset for offset, _ in offsets_and_values(data.records) if offset in held]
    return found
