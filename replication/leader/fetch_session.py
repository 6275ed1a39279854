"""Fetch sessions (KIP-227): the broker remembers the partitions that a fetcher wants, and responds only with changes.

A *full* fetch (epoch 0) names every partition and may open a session; an *incremental* one (epoch 1, 2, ...) names only
changes; epoch -1 closes the session. Pure: time and the source of ids are passed in.

A consumer sets partitions aside: it leaves them out of its fetch while it still has records of them to return. While
more records of such partitions wait, an empty fetch is answered after a few milliseconds. Otherwise it could wait for
its whole max wait, long after the consumer has used up its records.
"""

from bisect import bisect_left, insort
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

from ...protocol.errors import ErrorCode
from ..partition.fetch import FetchResults, PartitionFetch, PartitionKey

__all__ = [
    "DEFAULT_MAX_PARTITIONS",
    "FINAL_EPOCH",
    "FIRST_EMPTY_WAIT_MS",
    "INITIAL_EPOCH",
    "MOST_ERRORS",
    "NO_SESSION",
    "FetchContext",
    "FetchSession",
    "FetchSessions",
    "SessionAnswer",
    "next_epoch",
]

NO_SESSION = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
_LAST_EPOCH = 2**31 - 1
FIRST_EMPTY_WAIT_MS = 8
_EMPTY_WAIT_GROWTH = 1.25
"""Growth with each empty response, until partitions are set aside or return. It bounds the lost time to a fifth."""
_LONGEST_EMPTY_WAIT_MS = 60_000
DEFAULT_MAX_PARTITIONS = 200_000
"""Default of ``pybroker.fetch.sessions.max.partitions``. A partition takes about 700 bytes."""
MOST_ERRORS = 500
"""A fetcher has no session for more partitions with an error. It names them in each request, so that a small request
cannot cost the work of very many: partitions of a session without an error exist, but others could be any number."""

SessionAnswer = tuple[ErrorCode, int, FetchResults]
"""Top-level error, session id for the fetcher, and the results to send."""


def next_epoch(epoch: int) -> int:
    """The epoch after this one; it wraps to 1, because 0 opens a session."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == _LAST_EPOCH else epoch + 1


class FetchSession:
    """The partitions of one fetcher, in the order in which they are read: one that had records goes to the end."""

    __slots__ = (
        "created_ms",
        "epoch",
        "evictable_key",
        "is_privileged",
        "last_used_ms",
        "max_empty_wait_ms",
        "partitions",
        "session_id",
        "set_aside",
        "uses_topic_ids",
    )  # fmt: skip

    def __init__(
        self,
        session_id: int,
        partitions: dict[PartitionKey, PartitionFetch],
        *,
        is_privileged: bool,
        uses_topic_ids: bool,
        now_ms: int,
    ) -> None:
        self.session_id = session_id
        self.partitions = partitions
        self.set_aside: set[PartitionKey] = set()  # left out by the fetcher for now, though there are more records
        self.max_empty_wait_ms = float(FIRST_EMPTY_WAIT_MS)
        self.is_privileged = is_privileged
        self.uses_topic_ids = uses_topic_ids
        self.created_ms = now_ms
        self.last_used_ms = now_ms
        self.epoch = next_epoch(INITIAL_EPOCH)
        self.evictable_key = (is_privileged, len(partitions), session_id)

    @property
    def remembered(self) -> int:
        """The number of partitions that take memory here."""
        return len(self.partitions) + len(self.set_aside)

    def update(self, wanted: Mapping[PartitionKey, PartitionFetch], forgotten: Iterable[PartitionKey]) -> None:
        set_aside = self.set_aside
        if set_aside and not set_aside.isdisjoint(wanted):
            set_aside.difference_update(wanted)
            self.max_empty_wait_ms = FIRST_EMPTY_WAIT_MS
        for key, fetch in wanted.items():
            cached = self.partitions.get(key)
            if cached is None:
                self.partitions[key] = fetch
            else:
                cached.update_request(fetch)
        for key in forgotten:
            left_out = self.partitions.pop(key, None)
            if left_out is not None and left_out.has_more and not self.is_privileged:
                set_aside.add(key)
                self.max_empty_wait_ms = FIRST_EMPTY_WAIT_MS

    def select(self, results: FetchResults) -> FetchResults:
        """Returns the results that are new to the fetcher, and records them as sent."""
        selected = []
        for entry in results:
            fetch, result = entry
            if not fetch.note_answer(result):
                continue
            selected.append(entry)
            if result.size_bytes and fetch.key in self.partitions:
                self.partitions[fetch.key] = self.partitions.pop(fetch.key)
        return selected


class FetchContext(Protocol):
    """One fetch request in the light of its session."""

    @property
    def partitions(self) -> Iterable[PartitionFetch]:
        """The partitions to read, in order."""
        ...

    @property
    def max_empty_wait_ms(self) -> int | None:
        """The longest time in ms that the fetch may wait, whatever the request says; None: no limit."""
        ...

    def answer(self, results: FetchResults, now_ms: int) -> SessionAnswer:
        """The part of ``results`` to send. Changes the session: call it once, when the response is sent."""
        ...

    def throttled(self) -> SessionAnswer:
        """The response without partitions to a client over its quota. The session stays as it was (KIP-219)."""
        ...


class SessionErrorContext:
    """The session is unknown or out of step: the response is the error alone, and the fetcher starts a new session."""

    __slots__ = ("error",)
    partitions: tuple[PartitionFetch, ...] = ()
    max_empty_wait_ms: int | None = None

    def __init__(self, error: ErrorCode) -> None:
        self.error = error

    def answer(self, results: FetchResults, now_ms: int) -> SessionAnswer:
        return self.throttled()

    def throttled(self) -> SessionAnswer:
        return self.error, NO_SESSION, []


class SessionlessContext:
    """The fetcher wants no session, or its version has none."""

    __slots__ = ("partitions",)
    max_empty_wait_ms: int | None = None

    def __init__(self, partitions: Iterable[PartitionFetch]) -> None:
        self.partitions = partitions

    def answer(self, results: FetchResults, now_ms: int) -> SessionAnswer:
        return ErrorCode.NONE, NO_SESSION, results

    def throttled(self) -> SessionAnswer:
        return ErrorCode.NONE, NO_SESSION, []


class FullContext:
    """The request names every partition and the response has all. It opens a session if there is space for one."""

    __slots__ = ("_is_follower", "_sessions", "_uses_topic_ids", "partitions")
    max_empty_wait_ms: int | None = None

    def __init__(
        self,
        sessions: "FetchSessions",
        partitions: Iterable[PartitionFetch],
        *,
        is_follower: bool,
        uses_topic_ids: bool,
    ) -> None:
        self._sessions = sessions
        self.partitions = partitions
        self._is_follower = is_follower
        self._uses_topic_ids = uses_topic_ids

    def answer(self, results: FetchResults, now_ms: int) -> SessionAnswer:
        session_id = self._sessions.maybe_create(
            results, is_privileged=self._is_follower, uses_topic_ids=self._uses_topic_ids, now_ms=now_ms
        )
        return ErrorCode.NONE, session_id, results

    def throttled(self) -> SessionAnswer:
        return ErrorCode.NONE, NO_SESSION, []


class IncrementalContext:
    """The session's partitions are read, and the response has the changes."""

    __slots__ = ("_expected_epoch", "_session", "_sessions", "max_empty_wait_ms")

    def __init__(self, sessions: "FetchSessions", session: FetchSession) -> None:
        self._sessions = sessions
        self._session = session
        self.max_empty_wait_ms = int(session.max_empty_wait_ms) if session.set_aside else None
        self._expected_epoch = session.epoch

    @property
    def partitions(self) -> Iterable[PartitionFetch]:
        return self._session.partitions.values()

    def answer(self, results: FetchResults, now_ms: int) -> SessionAnswer:
        session = self._session
        if session.epoch != self._expected_epoch:  # another request of this session came in while this one was parked
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH, session.session_id, []
        selected = session.select(results)
        if _has_too_many_errors(selected):
            self._sessions.end(session)
        if session.set_aside and not selected:
            session.max_empty_wait_ms = min(session.max_empty_wait_ms * _EMPTY_WAIT_GROWTH, _LONGEST_EMPTY_WAIT_MS)
        return ErrorCode.NONE, session.session_id, selected

    def throttled(self) -> SessionAnswer:
        session = self._session
        is_current = session.epoch == self._expected_epoch
        return (ErrorCode.NONE if is_current else ErrorCode.INVALID_FETCH_SESSION_EPOCH), session.session_id, []


class FetchSessions:
    """The cache of max.incremental.fetch.session.cache.slots sessions, with ``max_partitions`` partitions in all. A
    fetcher beyond that gets no session, and names every partition in every fetch.

    A new session may evict another that (1) was not used for ``eviction_ms``; or (2) belongs to a consumer, when the
    new one is a follower's; or (3) is at least that old and has fewer partitions.
    """

    __slots__ = ("_by_all", "_by_privileged", "_eviction_ms", "_max_entries", "_max_partitions", "_new_id", "_sessions",
                 "evictions", "partition_count")  # fmt: skip

    def __init__(
        self,
        max_entries: int,
        new_id: Callable[[], int],
        eviction_ms: int = 120_000,
        max_partitions: int = DEFAULT_MAX_PARTITIONS,
    ) -> None:
        self._max_partitions = max_partitions
        self.partition_count = 0
        """The number of partitions in all sessions."""
        self.evictions = 0
        """How many sessions were removed to make room for others."""
        self._max_entries = max_entries
        self._new_id = new_id
        self._eviction_ms = eviction_ms
        self._sessions: OrderedDict[int, FetchSession] = OrderedDict()  # the least recently used first
        self._by_all: list[tuple[bool, int, int]] = []  # evictable by anyone, the least valuable first
        self._by_privileged: list[tuple[bool, int, int]] = []  # evictable by a follower's

    def __len__(self) -> int:
        return len(self._sessions)

    def get(self, session_id: int) -> FetchSession | None:
        return self._sessions.get(session_id)

    def begin(
        self,
        session_id: int,
        epoch: int,
        wanted: Mapping[PartitionKey, PartitionFetch],
        forgotten: Iterable[PartitionKey],
        *,
        is_follower: bool,
        uses_topic_ids: bool,
        now_ms: int,
    ) -> FetchContext:
        """The context of a request with these session fields. ``wanted``: the partitions it names."""
        if epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if session_id != NO_SESSION:
                self.remove(session_id)
            if epoch == FINAL_EPOCH:
                return SessionlessContext(wanted.values())
            return FullContext(self, wanted.values(), is_follower=is_follower, uses_topic_ids=uses_topic_ids)
        session = self._sessions.get(session_id)
        if session is None:
            return SessionErrorContext(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if session.epoch != epoch:
            return SessionErrorContext(ErrorCode.INVALID_FETCH_SESSION_EPOCH)
        if session.uses_topic_ids != uses_topic_ids:
            return SessionErrorContext(ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR)
        if wanted or forgotten:
            before = session.remembered
            session.update(wanted, forgotten)
            self.partition_count += session.remembered - before
            if self.partition_count > self._max_partitions:  # this session's growth went over the limit
                self.remove(session_id)
                return SessionErrorContext(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
        if not session.partitions:
            self.remove(session_id)
            return SessionlessContext(wanted.values())
        self._touch(session, now_ms)
        session.epoch = next_epoch(epoch)
        return IncrementalContext(self, session)

    def maybe_create(self, results: FetchResults, *, is_privileged: bool, uses_topic_ids: bool, now_ms: int) -> int:
        """Open a session for the partitions of ``results``; its id, or NO_SESSION when too many have an error, or when
        no other session may be evicted."""
        if _has_too_many_errors(results):
            return NO_SESSION
        if len(self._sessions) >= self._max_entries and not self._evict_one(is_privileged, len(results), now_ms):
            return NO_SESSION
        while self.partition_count + len(results) > self._max_partitions:
            if not self._evict_one(is_privileged, len(results), now_ms):
                return NO_SESSION
        partitions = {}
        for fetch, result in results:
            fetch.note_answer(result)
            partitions[fetch.key] = fetch
        session_id = self._new_id()
        while session_id in self._sessions or session_id == NO_SESSION:
            session_id = self._new_id()
        session = FetchSession(
            session_id, partitions, is_privileged=is_privileged, uses_topic_ids=uses_topic_ids, now_ms=now_ms
        )
        self._sessions[session_id] = session
        self.partition_count += len(partitions)
        self._touch(session, now_ms)
        return session_id

    def remove(self, session_id: int) -> bool:
        session = self._sessions.pop(session_id, None)
        if session is None:
            return False
        self.partition_count -= session.remembered
        _discard(self._by_all, session.evictable_key)
        _discard(self._by_privileged, session.evictable_key)
        return True

    def end(self, session: FetchSession) -> None:
        """Remove the session, unless it was removed before: its fetcher begins anew with its next request."""
        if self._sessions.get(session.session_id) is session:
            self.remove(session.session_id)

    def _evict_one(self, is_privileged: bool, size: int, now_ms: int) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        session_id = oldest.session_id
        if now_ms - oldest.last_used_ms <= self._eviction_ms:
            evictable = self._by_privileged if is_privileged else self._by_all
            if not evictable or (is_privileged, size, 0) < evictable[0]:
                return False
            session_id = evictable[0][2]
        self.evictions += 1
        return self.remove(session_id)

    def _touch(self, session: FetchSession, now_ms: int) -> None:
        session.last_used_ms = now_ms
        self._sessions.move_to_end(session.session_id)
        is_old = now_ms - session.created_ms > self._eviction_ms
        key = (session.is_privileged, len(session.partitions), session.session_id)
        if key != session.evictable_key:
            _discard(self._by_all, session.evictable_key)
            _discard(self._by_privileged, session.evictable_key)
            session.evictable_key = key
        if is_old:
            _add(self._by_all, key)
        if is_old or not session.is_privileged:
            _add(self._by_privileged, key)


def _has_too_many_errors(results: FetchResults) -> bool:
    return len(results) > MOST_ERRORS and sum([1 for _, result in results if result.error]) > MOST_ERRORS


def _add(keys: list[tuple[bool, int, int]], key: tuple[bool, int, int]) -> None:
    at = bisect_left(keys, key)
    if at == len(keys) or keys[at] != key:
        insort(keys, key)


def _discard(keys: list[tuple[bool, int, int]], key: tuple[bool, int, int]) -> None:
    at = bisect_left(keys, key)
    if at < len(keys) and keys[at] == key:
        del keys[at]
