"""A record of client operations, their results and the faults of a run; the final checkers judge by it."""

from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple
from zlib import crc32

__all__ = [
    "IN_SEQUENCE",
    "Acknowledged",
    "Commit",
    "Guarantee",
    "History",
    "Outcome",
    "Place",
    "Read",
    "Sent",
    "Suspicion",
    "Transaction",
    "ViolationError",
]

_LINES = 4000

Place = tuple[str, int]
"""A topic and the number of a partition."""


class ViolationError(Exception):
    """An invariant is broken. The message names the invariant and the place."""


class Outcome(Enum):
    UNDER_WAY = "under way"
    ACKNOWLEDGED = "acknowledged"
    UNKNOWN = "unknown"
    """Given up without having heard: it may be there or not, or may come yet."""
    REFUSED = "refused"
    """Each time it was sent, an error code said that it was not taken."""


class Guarantee(Enum):
    """The delivery guarantee a producer asked for."""

    NONE = "acks=0"
    LEADER = "acks=1"
    ALL = "acks=all"
    ONCE = "idempotent"
    TRANSACTION = "transactional"

    @property
    def acks(self) -> int:
        return {Guarantee.NONE: 0, Guarantee.LEADER: 1}.get(self, -1)


IN_SEQUENCE = (Guarantee.ONCE, Guarantee.TRANSACTION)
"""Those whose batches are numbered: they are to be there once."""


@dataclass(slots=True)
class Sent:
    """A batch that a producer sent. `number` counts those of a producer to a partition."""

    producer: str
    number: int
    place: Place
    values: tuple[bytes, ...]
    guarantee: Guarantee
    sent_s: float
    attempts: int = 0
    outcome: Outcome = Outcome.UNDER_WAY
    base_offset: int = -1
    done_s: float = -1.0
    leader_id: int = -1
    """Who acknowledged it."""
    sequence: int = -1
    known_epoch: int = -1
    """The leader epoch that who acknowledged it knew of when it was asked, at `asked_s`."""
    asked_s: float = -1.0
    maybe_taken: int = 0
    """Of the attempts, those of which nobody has said that nothing came of them: so many copies may be there."""

    @property
    def last_offset(self) -> int:
        return self.base_offset + len(self.values) - 1

    @property
    def acknowledged(self) -> "Acknowledged":
        return Acknowledged(self.known_epoch, self.last_offset, self.asked_s)


@dataclass(frozen=True, slots=True)
class Read:
    """A record that a consumer read: its offset, the leader epoch and the time."""

    value: bytes
    known_epoch: int
    read_s: float


class Acknowledged(NamedTuple):
    """An append acknowledged by a leader, with the leader epoch it knew and the time of the request. ``last_offset``:
    it is there at the latest; where exactly nobody has said."""

    known_epoch: int = -1
    last_offset: int = -1
    asked_s: float = -1.0


class Commit(NamedTuple):
    """An offset, and the record by which a group's coordinator has acknowledged it."""

    offset: int = -1
    record: Acknowledged = Acknowledged()


@dataclass(frozen=True, slots=True)
class Suspicion:
    """A violation unless the records at that offset and leader epoch may have been lost since."""

    place: Place
    what: str
    lost: Acknowledged
    is_refusal: bool = False
    """By a leader that need not be one any more."""


@dataclass(slots=True, eq=False)
class Transaction:
    """Records that a producer sent atomically. `is_committed`: the coordinator decided to commit."""

    producer_id: int
    sent: list[Sent] = field(default_factory=list)
    is_committed: bool = False
    read: dict[str, dict[bytes, None]] = field(default_factory=dict)
    """What of it each consumer has read that wants committed records only."""
    ends: dict[Place, Acknowledged] = field(default_factory=dict)
    """The markers that are acknowledged."""


@dataclass
class History:
    """`lines` are the last things that happened, in words; `digest` stands for all of them, for comparing runs."""

    sent: list[Sent] = field(default_factory=list)
    read: dict[Place, dict[int, Read]] = field(default_factory=dict)
    committed: dict[tuple[str, Place], Commit] = field(default_factory=dict)
    """The last offset whose commit was acknowledged, by group and partition."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    counts: Counter[str] = field(default_factory=Counter)
    suspicions: list[Suspicion] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    """What must not be, whatever happened."""
    transactions: dict[bytes, Transaction] = field(default_factory=dict)
    """By the value of each record in them."""
    ended_transactions: list[Transaction] = field(default_factory=list)
    """All markers of which are acknowledged."""
    committed_readers: list[str] = field(default_factory=list)
    """Consumers that want committed records only."""
    deletions: dict[Place, int] = field(default_factory=dict)
    """Up to which offset somebody asked for records to be deleted."""
    kept_to_size: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Topics of which old records go by themselves, and their settings."""
    topics: dict[str, bool | None] = field(default_factory=dict)
    """Whether a topic is to be there; None: nobody knows, for some request about it was not answered."""
    digest: int = 0

    def may_be_trimmed(self, place: Place, log_start_offset: int) -> bool:
        """Whether the log may begin there."""
        return place[0] in self.kept_to_size or log_start_offset <= self.deletions.get(place, 0)

    def note(self, time_s: float, who: str, what: str) -> None:
        line = f"{time_s:10.4f} {who}: {what}"
        self.lines.append(line)
        self.digest = crc32(line.encode(), self.digest)

    def suspect(self, place: Place, what: str, lost: Acknowledged | None, *, is_refusal: bool = False) -> None:
        """``lost``: what explains it, if it is lost; None: nothing does."""
        if lost is None:
            self.violations.append(f"{place}: {what}")
        else:
            self.suspicions.append(Suspicion(place, what, lost, is_refusal))

    def has_committed(self, key: tuple[str, Place], before: Commit, commit: Commit) -> None:
        """A group's offset is another one now, be it lower than `before`, which was the last one when it was asked for:
        from now on nothing lower than this is right."""
        latest = self.committed.get(key, Commit())
        self.committed[key] = commit if latest == before else max(commit, latest)

    def saw(self, place: Place, offset: int, read: Read) -> None:
        """A consumer read a record."""
        records = self.read.setdefault(place, {})
        before = records.setdefault(offset, read)
        if before is read:
            return
        older, newer = sorted((before, read), key=lambda each: each.known_epoch)
        if older.value != newer.value:
            told = f"offset {offset} was read as {older.value!r} and as {newer.value!r}"
            self.suspect(place, told, Acknowledged(older.known_epoch, offset, older.read_s))
        records[offset] = newer
