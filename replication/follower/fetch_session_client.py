"""A fetch session as the fetcher keeps it (KIP-227; Kafka: FetchSessionHandler). Pure.

The first request (epoch 0) names every partition, and the leader opens a session. Later requests (epoch 1, 2, …) name
only the partitions that changed. After an error the fetcher gives the session up: a request with epoch 0 that names the
old session closes it and opens a new one.
"""

from collections.abc import Collection, Iterable, Mapping

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode
from ..leader.fetch_session import INITIAL_EPOCH, NO_SESSION, next_epoch
from .leader_endpoint import WantedPartition

__all__ = ["ClientFetchSession", "SessionRequest"]


@frozen
class SessionRequest:
    """The next request. ``forgotten``: partitions of the session that the fetcher does not want any more, or wants in
    another way."""

    session_id: int
    epoch: int
    named: Mapping[TopicPartition, WantedPartition]
    forgotten: Mapping[TopicPartition, WantedPartition]
    uses_topic_ids: bool

    @property
    def is_full(self) -> bool:
        return self.epoch == INITIAL_EPOCH


class ClientFetchSession:
    def __init__(self) -> None:
        self._session_id = NO_SESSION
        self._epoch = INITIAL_EPOCH
        self._partitions: dict[TopicPartition, WantedPartition] = {}
        """The partitions of the session, as the leader knows them."""
        self._without_id: dict[TopicPartition, None] = {}

    def request(
        self, wanted: Mapping[TopicPartition, WantedPartition], changed: Iterable[TopicPartition]
    ) -> SessionRequest | None:
        """The request after which ``wanted`` are the partitions of the session; None when there is nothing to fetch.

        ``changed``: only these partitions may differ from the request before.
        """
        named: dict[TopicPartition, WantedPartition] = {}
        forgotten: dict[TopicPartition, WantedPartition] = {}
        if self._epoch == INITIAL_EPOCH:
            self._partitions = dict(wanted)
            self._without_id = {each: None for each, want in wanted.items() if want.topic_id is None}
            named = self._partitions.copy()
        else:
            for each in changed:
                self._change(each, wanted.get(each), named, forgotten)
        if not wanted and not forgotten:
            return None
        has_ids = not self._without_id and all(want.topic_id is not None for want in forgotten.values())
        return SessionRequest(self._session_id, self._epoch, named, forgotten, has_ids)

    def _change(
        self,
        topic_partition: TopicPartition,
        want: WantedPartition | None,
        named: dict[TopicPartition, WantedPartition],
        forgotten: dict[TopicPartition, WantedPartition],
    ) -> None:
        """Record ``want`` in the session and in the request."""
        known = self._partitions.get(topic_partition)
        if known == want:
            return
        if want is None:
            del self._partitions[topic_partition]
        else:
            self._partitions[topic_partition] = named[topic_partition] = want
        if want is not None and want.topic_id is None:
            self._without_id[topic_partition] = None
        else:
            self._without_id.pop(topic_partition, None)
        # Also a topic that was deleted and created again in between.
        if known is not None and (want is None or known.topic_id not in (want.topic_id, None)):
            forgotten[topic_partition] = known

    def answered(self, session_id: int, error: ErrorCode, partitions: Collection[TopicPartition]) -> bool:
        """The leader answered the last request; returns whether the response may be used."""
        if error is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
            self._begin_anew(NO_SESSION)
            return False
        if error:
            self._begin_anew(self._session_id)
            return False
        if any(each not in self._partitions for each in partitions):
            self._begin_anew(self._session_id)
            return False
        if self._epoch == INITIAL_EPOCH:
            if len(partitions) < len(self._partitions):  # a full response has all partitions
                self._begin_anew(NO_SESSION)
                return False
            self._session_id = session_id
            self._epoch = INITIAL_EPOCH if session_id == NO_SESSION else next_epoch(INITIAL_EPOCH)
        elif session_id == NO_SESSION:  # the leader has closed it
            self._begin_anew(NO_SESSION)
        else:
            self._epoch = next_epoch(self._epoch)
        return True

    def failed(self) -> None:
        """The last request got no response: the leader may or may not have noted it in the session."""
        self._begin_anew(self._session_id)

    def _begin_anew(self, closing: int) -> None:
        self._session_id = closing
        self._epoch = INITIAL_EPOCH
