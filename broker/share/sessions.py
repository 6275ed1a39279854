"""Share sessions (KIP-932): the broker remembers the partitions that a member fetches, and counts its requests.

A request of epoch 0 opens the session of its member, those of epoch 1, 2, ... follow, and -1 closes it. Pure.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple
from uuid import UUID

from ...protocol.errors import (
    InvalidRequestError,
    InvalidShareSessionEpochError,
    ShareSessionLimitReachedError,
    ShareSessionNotFoundError,
)
from ...replication.leader.fetch_session import FINAL_EPOCH, INITIAL_EPOCH, next_epoch

__all__ = ["MemberKey", "SessionPartition", "ShareSession", "ShareSessions"]


class MemberKey(NamedTuple):
    """A member of a share group."""

    group_id: str
    member_id: str


class SessionPartition(NamedTuple):
    """A partition that a member fetches."""

    topic_id: UUID
    partition: int


class ShareSession:
    """``partitions`` in the order in which the member named them. ``connection``: what the session ends with."""

    __slots__ = ("connection", "epoch", "key", "partitions")

    def __init__(self, key: MemberKey, partitions: Iterable[SessionPartition], connection: object) -> None:
        self.key = key
        self.partitions = dict.fromkeys(partitions)
        self.connection = connection
        self.epoch = next_epoch(INITIAL_EPOCH)


class ShareSessions:
    """At most ``max_sessions``, with at most ``max_partitions`` partitions in all.

    ``ended`` is called with each session that was closed, and has to release what its member holds.
    """

    def __init__(self, max_sessions: int, max_partitions: int, ended: Callable[[ShareSession], None]) -> None:
        self._max_sessions = max_sessions
        self._max_partitions = max_partitions
        self._ended = ended
        self._sessions: dict[MemberKey, ShareSession] = {}
        self._members: dict[str, int] = {}
        self._by_connection: dict[object, set[MemberKey]] = {}
        self.partition_count = 0
        """The number of partitions in all sessions."""

    def __len__(self) -> int:
        return len(self._sessions)

    def has_members(self, group_id: str) -> bool:
        """Whether a member of the group has a session here."""
        return group_id in self._members

    def fetched(
        self,
        key: MemberKey,
        epoch: int,
        wanted: Iterable[SessionPartition],
        forgotten: Iterable[SessionPartition],
        connection: object,
        *,
        acknowledges: bool,
    ) -> ShareSession:
        """The session of a ShareFetch, in its next epoch. The caller closes that of the final epoch afterwards.

        Raises ShareSessionNotFoundError, InvalidShareSessionEpochError, ShareSessionLimitReachedError, or
        InvalidRequestError when the first request acknowledges records.
        """
        if epoch == INITIAL_EPOCH:
            if acknowledges:
                raise InvalidRequestError("the first request of a share session cannot acknowledge records")
            return self._open(ShareSession(key, wanted, connection))
        session = self.acknowledged(key, epoch)
        if epoch == FINAL_EPOCH:
            return session
        before = len(session.partitions)
        session.partitions.update(dict.fromkeys(wanted))
        for partition in forgotten:
            session.partitions.pop(partition, None)
        self.partition_count += len(session.partitions) - before
        if self.partition_count > self._max_partitions:
            self.close(key)
            raise ShareSessionNotFoundError()
        return session

    def acknowledged(self, key: MemberKey, epoch: int) -> ShareSession:
        """The session of a ShareAcknowledge, in its next epoch. Raises as `fetched` does."""
        if epoch == INITIAL_EPOCH:
            raise InvalidShareSessionEpochError()
        session = self._sessions.get(key)
        if session is None:
            raise ShareSessionNotFoundError()
        if epoch != FINAL_EPOCH:
            if session.epoch != epoch:
                raise InvalidShareSessionEpochError()
            session.epoch = next_epoch(epoch)
        return session

    def close(self, key: MemberKey) -> None:
        """Remove the member's session, if there is one."""
        session = self._remove(key)
        if session is not None:
            self._ended(session)

    def connection_closed(self, connection: object) -> None:
        """Remove the sessions that were opened by this connection."""
        for key in tuple(self._by_connection.get(connection, ())):
            self.close(key)

    def _open(self, session: ShareSession) -> ShareSession:
        """A session that takes the place of another one has the records that the member holds, as with Kafka."""
        before = self._sessions.get(session.key)
        others = len(self._sessions) - (before is not None)
        partitions = self.partition_count + len(session.partitions) - len(() if before is None else before.partitions)
        if others >= self._max_sessions or partitions > self._max_partitions:
            self.close(session.key)
            raise ShareSessionLimitReachedError()
        self._remove(session.key)
        self._sessions[session.key] = session
        self._by_connection.setdefault(session.connection, set()).add(session.key)
        self.partition_count += len(session.partitions)
        group_id = session.key.group_id
        self._members[group_id] = self._members.get(group_id, 0) + 1
        return session

    def _remove(self, key: MemberKey) -> ShareSession | None:
        session = self._sessions.pop(key, None)
        if session is None:
            return None
        self.partition_count -= len(session.partitions)
        of_connection = self._by_connection[session.connection]
        of_connection.discard(key)
        if not of_connection:
            del self._by_connection[session.connection]
        self._members[key.group_id] -= 1
        if not self._members[key.group_id]:
            del self._members[key.group_id]
        return session
