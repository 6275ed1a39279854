"""What clients did and saw, and what went wrong: all that the checkers at the end have to go by."""

from collections import Counter, deque
from dataclasses import dataclass, field
from enum import Enum
from zlib import crc32

__all__ = ["Guarantee", "History", "Outcome", "Place", "Sent", "Transaction", "ViolationError"]

_LINES = 4000

Place = tuple[str, int]
"""A topic and the number of a partition."""


class ViolationError(Exception):
    """Something that must not be. The message says what, and where."""


class Outcome(Enum):
    UNDER_WAY = "under way"
    ACKNOWLEDGED = "acknowledged"
    UNKNOWN = "unknown"
    """Given up without having heard: it may be there or not, or may come yet."""
    REFUSED = "refused"
    """An error code says that it was not taken."""


class Guarantee(Enum):
    """What a producer was promised about its records."""

    NONE = "acks=0"
    LEADER = "acks=1"
    ALL = "acks=all"
    ONCE = "idempotent"
    TRANSACTION = "transactional"

    @property
    def acks(self) -> int:
        return {Guarantee.NONE: 0, Guarantee.LEADER: 1}.get(self, -1)


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


@dataclass(slots=True, eq=False)
class Transaction:
    """What a producer sent, to be taken whole or not at all. `is_committed`: it was decided that it counts."""

    producer_id: int
    sent: list[Sent] = field(default_factory=list)
    is_committed: bool = False
    read: dict[str, dict[bytes, None]] = field(default_factory=dict)
    """What of it each consumer has read that wants committed records only."""


@dataclass
class History:
    """`lines` are the last things that happened, in words; `digest` stands for all of them, for comparing runs."""

    sent: list[Sent] = field(default_factory=list)
    read: dict[Place, dict[int, bytes]] = field(default_factory=dict)
    committed: dict[tuple[str, Place], int] = field(default_factory=dict)
    """The last offset whose commit was acknowledged, by group and partition."""
    lines: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    counts: Counter[str] = field(default_factory=Counter)
    suspicions: list[tuple[Place, str]] = field(default_factory=list)
    """What must not be, unless something excuses it that happened to that partition."""
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
    kept_to_size: dict[str, None] = field(default_factory=dict)
    """Topics of which old records go by themselves."""
    digest: int = 0

    def may_be_trimmed(self, place: Place, log_start_offset: int) -> bool:
        """Whether the log may begin there."""
        return place[0] in self.kept_to_size or log_start_offset <= self.deletions.get(place, 0)

    def note(self, time_s: float, who: str, what: str) -> None:
        line = f"{time_s:10.4f} {who}: {what}"
        self.lines.append(line)
        self.digest = crc32(line.encode(), self.digest)

    def saw(self, place: Place, offset: int, value: bytes) -> None:
        """A consumer read a record."""
        records = self.read.setdefault(place, {})
        before = records.setdefault(offset, value)
        if before != value:
            self.suspicions.append((place, f"offset {offset} was read as {before!r} and as {value!r}"))
