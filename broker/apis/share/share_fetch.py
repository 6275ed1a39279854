"""ShareFetch (API 78): acquire records for a member of a share group, and acknowledge earlier ones (KIP-932).

The response comes when the acknowledgements are stored and the fetch has records, an error, or waited long enough. A
member beyond the limit of share sessions gets its error after its maximum wait, so that it does not ask all the time.
A session ends in which more than `MOST_ERRORS` partitions have an error: its requests would be small, but much work.

v1 the limits are numbers of records; v2 strict limits, and renewed locks (KIP-1206, KIP-1222).
"""

import asyncio
from collections.abc import Awaitable, Container, Iterator
from functools import partial

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....protocol.errors import (
    InvalidRequestError,
    KafkaError,
    ShareSessionLimitReachedError,
    TopicAuthorizationError,
    UnknownTopicIdError,
)
from ....protocol.messages.share_fetch import ShareFetchRequest, ShareFetchResponse
from ....replication.leader.fetch_session import FINAL_EPOCH, INITIAL_EPOCH, MOST_ERRORS
from ...coordinator.share.ports import SharePartitionKey
from ...requests.context import RequestContext
from ...share.active_share_partition import ActiveSharePartition
from ...share.fetched_records import FetchedRecords
from ...share.sessions import SessionPartition, ShareSession
from ...share.share_fetch import ShareFetch as WaitingFetch
from ..records.parked_fetches import fetch_bytes
from .acknowledging import AcknowledgeErrors, Acknowledging, Member, member_key
from .fetch_params import ACQUIRE_MODES, ShareFetchHandlerParts, fetch_params

__all__ = ["ShareFetch"]

_UNKNOWN_TOPIC = UnknownTopicIdError()
_DENIED = TopicAuthorizationError()


class ShareFetch:
    """The handler."""

    def __init__(self, parts: ShareFetchHandlerParts) -> None:
        self._parts = parts

    def __call__(
        self, context: RequestContext, request: ShareFetchRequest
    ) -> ShareFetchResponse | Awaitable[ShareFetchResponse]:
        key = member_key(context, request.group_id, request.member_id)
        asks_for_records = request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms
        if request.is_renew_ack and asks_for_records:
            raise InvalidRequestError("a request that renews locks cannot fetch records")
        if request.share_acquire_mode not in ACQUIRE_MODES:
            raise InvalidRequestError("the acquire mode is unknown")
        sessions = self._parts.shares.sessions
        try:
            session = sessions.fetched(
                key,
                request.share_session_epoch,
                _partitions(request),
                (SessionPartition(t.topic_id, index) for t in request.forgotten_topics_data for index in t.partitions),
                context.address,
                acknowledges=any(p.acknowledgement_batches for topic in request.topics for p in topic.partitions),
            )
        except ShareSessionLimitReachedError:
            return _refused_later(request.max_wait_ms)
        context.address.when_closed = partial(sessions.connection_closed, context.address)
        pending = _PendingShareFetch(self._parts, context, request, session)
        return pending.start()


class _PendingShareFetch:
    """A fetch whose response comes when its acknowledgements are stored and its records are read."""

    def __init__(
        self, parts: ShareFetchHandlerParts, context: RequestContext, request: ShareFetchRequest, session: ShareSession
    ) -> None:
        self._parts = parts
        self._context = context
        self._key = session.key
        self._session = session
        self._is_final = request.share_session_epoch == FINAL_EPOCH
        self._ends_session = self._is_final
        self._request = request
        self._acknowledged: AcknowledgeErrors | None = None
        self._fetched: list[FetchedRecords] | None = None
        self._errors: dict[SessionPartition, KafkaError] = {}
        self._fetch: WaitingFetch | None = None
        self._response: ShareFetchResponse | None = None
        self._future: asyncio.Future[ShareFetchResponse] | None = None

    def start(self) -> ShareFetchResponse | Awaitable[ShareFetchResponse]:
        request, context, parts = self._request, self._context, self._parts
        wanted = [] if self._is_final or request.is_renew_ack else list(self._session.partitions)
        topic_ids = {partition.topic_id for partition in wanted} | {topic.topic_id for topic in request.topics}
        names = (parts.names.topic_name(topic_id) for topic_id in topic_ids)
        denied = context.denied(AclOperation.READ, AclResourceType.TOPIC, (name for name in names if name is not None))
        member = Member(self._key, context.api_version >= 2, request.is_renew_ack)
        acknowledging = Acknowledging(parts.shares, parts.names, member, denied, self._all_acknowledged)
        for topic in request.topics:
            for partition in topic.partitions:
                if partition.acknowledgement_batches:
                    acknowledging.pass_on(
                        SessionPartition(topic.topic_id, partition.partition_index), partition.acknowledgement_batches
                    )
        actives = [active for partition in wanted if (active := self._active(partition, denied)) is not None]
        if len(self._errors) > MOST_ERRORS:  # without records: the end of the session would release them
            self._ends_session, actives = True, []
        acknowledging.all_passed_on()
        self._begin_fetch(actives)
        if self._response is not None:
            return self._response
        self._future = asyncio.get_running_loop().create_future()
        context.abandon = self.abandon
        if context.request is not None:
            context.request.asked_wait_ms = request.max_wait_ms
            context.request.waited_for = _records
        if self._fetch is not None and not self._fetch.is_done:
            parts.parked.add(self, fetch_bytes(len(actives), len(wanted), context.frame_bytes))
        return self._future

    def answer_early(self) -> None:
        """Respond with the records that are there."""
        if self._fetch is not None:
            self._fetch.answer_early()

    def abandon(self) -> None:
        """The connection has gone."""
        self._parts.parked.remove(self)
        if self._fetch is not None:
            self._fetch.abandon()
        if self._future is not None:
            self._future.cancel()

    def _active(self, partition: SessionPartition, denied: Container[str]) -> ActiveSharePartition | None:
        """The share partition to fetch from; None: there is an error instead."""
        name = self._parts.names.topic_name(partition.topic_id)
        if name is None or name in denied:
            self._errors[partition] = _UNKNOWN_TOPIC if name is None else _DENIED
            return None
        try:
            key = SharePartitionKey(self._key.group_id, *partition)
            return self._parts.shares.active(key, TopicPartition(name, partition.partition))
        except KafkaError as error:
            self._errors[partition] = error
        return None

    def _begin_fetch(self, actives: list[ActiveSharePartition]) -> None:
        request, parts = self._request, self._parts
        params = fetch_params(parts, self._context, self._key, request)
        if not actives or params.max_records <= 0 or params.max_bytes <= 0:
            self._all_fetched([])
            return
        first = request.share_session_epoch % len(actives)  # another partition comes first each time
        self._fetch = WaitingFetch(parts.fetching, params, actives[first:] + actives[:first], self._all_fetched)
        self._fetch.look()

    def _all_acknowledged(self, errors: AcknowledgeErrors) -> None:
        self._acknowledged = errors
        if self._ends_session:
            self._parts.shares.sessions.close(self._key)
        self._maybe_answer()

    def _all_fetched(self, fetched: list[FetchedRecords]) -> None:
        self._fetched = fetched
        self._parts.parked.remove(self)
        self._maybe_answer()

    def _maybe_answer(self) -> None:
        if self._acknowledged is None or self._fetched is None:
            return
        is_opened = self._request.share_session_epoch == INITIAL_EPOCH and self._fetch is not None
        opened = self._session.partitions if is_opened else ()
        self._response = self._parts.responses.response(
            self._context, self._key, self._fetched, self._errors, self._acknowledged, opened
        )
        if self._future is not None and not self._future.done():  # a closed connection cancels it
            self._future.set_result(self._response)


def _partitions(request: ShareFetchRequest) -> Iterator[SessionPartition]:
    for topic in request.topics:
        for partition in topic.partitions:
            yield SessionPartition(topic.topic_id, partition.partition_index)


async def _refused_later(max_wait_ms: int) -> ShareFetchResponse:
    await asyncio.sleep(max(max_wait_ms, 0) / 1000)
    raise ShareSessionLimitReachedError()


def _records() -> str:
    return "records"
