"""A fetch session from the side of who fetches (KIP-227; Kafka: FetchSessionHandler). Pure.

The first request names every partition, epoch 0; the leader opens a session. The following ones, epoch 1, 2, …, name
only the partitions of which something changed. After any doubt the session is given up and a new one asked for: a
request with epoch 0 that still names the old session closes that one.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode
from ..leader.fetch_session import INITIAL_EPOCH, NO_SESSION, next_epoch
from .leader_endpoint import WantedPartition

__all__ = ["ClientFetchSession", "SessionRequest"]


@dataclass(frozen=True, slots=True)
class SessionRequest:
    """What to send. ``forgotten``: partitions of the session that are not wanted any more, or not as they were."""

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
        """What the leader believes to be wanted."""
        self._without_id: dict[TopicPartition, None] = {}

    def request(
        self, wanted: Mapping[TopicPartition, WantedPartition], changed: Iterable[TopicPartition]
    ) -> SessionRequest | None:
        """The next request, with which ``wanted`` are the partitions of the session; None: there is nothing to ask.

        Only of those ``changed`` it may be something else than in the request before.
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
        """Have the session agree with ``want``, and the request say so."""
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
        # Also a topic that was deleted and made anew in between.
        if known is not None and (want is None or known.topic_id not in (want.topic_id, None)):
            forgotten[topic_partition] = known

    def answered(self, session_id: int, error: ErrorCode, partitions: Collection[TopicPartition]) -> bool:
        """An answer came to the last request; returns whether what it holds may be used."""
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
            if len(partitions) < len(self._partitions):  # a full answer has all
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
        """No answer came to the last request: whether the leader has taken it into the session nobody knows."""
        self._begin_anew(self._session_id)

    def _begin_anew(self, closing: int) -> None:
        self._session_id = closing
        self._epoch = INITIAL_EPOCH
