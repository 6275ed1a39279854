"""Logs misbehaving peers at a bounded rate."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from enum import Enum, auto

from ...base.event_marks import marked

__all__ = ["OffenderLog", "Violation", "event_of", "name_of", "offences_in"]

_OTHER_HOSTS = "other hosts"
_MAX_SUBJECTS = 8
_LONGEST_SUBJECT = 200
_EVERYTHING_ELSE = "everything else"


class Violation(Enum):
    """Kinds of misbehaviour that the log distinguishes."""

    TLS = auto()
    TLS_NAME = auto()
    HTTP = auto()
    HTTP_TOKEN = auto()
    PROXY_HEADER = auto()
    FRAME_SIZE = auto()
    HEADER = auto()
    NOT_SERVED = auto()
    UNDECODABLE = auto()
    REFUSED_REQUEST = auto()
    LOGIN = auto()
    SILENCE = auto()
    SLOW_READER = auto()
    TOO_MANY = auto()
    LONG_RESPONSE = auto()


def name_of(violation: Enum) -> str:
    return violation.name.lower().replace("_", "-")


def event_of(violation: Enum) -> str:
    """The id of the event of a `Violation`, or of a cause for which a TLS connection failed."""
    kind = "offence" if isinstance(violation, Violation) else "tls"
    return f"peer.{kind}.{name_of(violation)}"


def offences_in(counts: Mapping[Enum, int]) -> Counter[str]:
    """The counts by the names that metrics show; causes for which TLS failed begin with ``tls-``."""
    named = Counter[str]()
    for violation, count in counts.items():
        name = name_of(violation)
        named[name if isinstance(violation, Violation) else f"tls-{name}"] += count
    return named


class _Lines:
    """The last lines about one kind of misbehaviour of one host, the oldest first, by what they were about."""

    __slots__ = ("last", "last_s")

    def __init__(self) -> None:
        self.last_s = 0.0
        self.last: dict[str, tuple[float, int]] = {}  # when, and how many were left out since

    def subject(self, about: str, now_s: float, quiet_s: float) -> str:
        """The key of ``about``, or that of everything else while there is no space for another one."""
        about = about[:_LONGEST_SUBJECT]
        if about in self.last:
            return about
        if len(self.last) >= _MAX_SUBJECTS:
            oldest = next((key for key, (last_s, _) in self.last.items() if now_s - last_s >= quiet_s), None)
            if oldest is None:
                return _EVERYTHING_ELSE
            del self.last[oldest]
        return about


class OffenderLog:
    """Logs violations of peers: for each host, violation and subject one line in ``quiet_s`` seconds, with a count of
    the rest.

    Remembers `_MAX_REMEMBERED` pairs of host and violation. When all of them had their line in that time, further hosts
    share one line for each violation. Beyond `_MAX_SUBJECTS` subjects, further ones of a host share a line too, because
    a client can choose them.
    """

    _MAX_REMEMBERED = 1024

    def __init__(self, logger: logging.Logger, now_s: Callable[[], float], quiet_s: float = 30.0) -> None:
        self._logger = logger
        self._now_s = now_s
        self._quiet_s = quiet_s
        self.counts: Counter[Enum] = Counter()
        """How often each violation happened."""
        self._lines: OrderedDict[tuple[str, Enum], _Lines] = OrderedDict()  # those with the oldest lines first

    def warn(self, host: str, violation: Enum, message: str, about: str = "") -> None:
        """``violation``: a `Violation`, or another kind of misbehaviour. ``about``: what tells this failure from others
        of the same kind and host, such as the user."""
        self.counts[violation] += 1
        now_s = self._now_s()
        if (host, violation) not in self._lines and self._is_full(now_s):
            host = _OTHER_HOSTS
            about = ""
        lines = self._lines.setdefault((host, violation), _Lines())
        subject = lines.subject(about, now_s, self._quiet_s)
        last_s, left_out = lines.last.get(subject, (None, 0))
        if last_s is not None and now_s - last_s < self._quiet_s:
            lines.last[subject] = (last_s, left_out + 1)
            return
        lines.last.pop(subject, None)  # so that it becomes the newest
        lines.last[subject] = (now_s, 0)
        lines.last_s = now_s
        self._lines.move_to_end((host, violation))
        if left_out:
            message = f"{message} ({left_out} more from {host} since the last such line)"
        self._logger.warning("%s", message, extra=marked(event_of(violation), peer=host))

    def _is_full(self, now_s: float) -> bool:
        """Forgets the lines whose time is over, when there is no space for another one."""
        while len(self._lines) >= self._MAX_REMEMBERED:
            if now_s - next(iter(self._lines.values())).last_s < self._quiet_s:
                return True
            self._lines.popitem(last=False)
        return False
