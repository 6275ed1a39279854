"""Logs misbehaving peers at a bounded rate."""

import logging
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from enum import Enum, auto

from ...base.event_marks import marked

__all__ = ["OffenderLog", "Violation", "event_of", "name_of", "offences_in"]

_OTHER_HOSTS = "other hosts"


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


class OffenderLog:
    """Logs violations of peers: for each host and violation one line in ``quiet_s`` seconds, with a count of the rest.

    Remembers `_MAX_REMEMBERED` pairs of host and violation. When all of them had their line in that time, further hosts
    share one line for each violation.
    """

    _MAX_REMEMBERED = 1024

    def __init__(self, logger: logging.Logger, now_s: Callable[[], float], quiet_s: float = 30.0) -> None:
        self._logger = logger
        self._now_s = now_s
        self._quiet_s = quiet_s
        self.counts: Counter[Enum] = Counter()
        """How often each violation happened."""
        self._lines: OrderedDict[tuple[str, Enum], tuple[float, int]] = OrderedDict()  # last line, left out since

    def warn(self, host: str, violation: Enum, message: str) -> None:
        """``violation``: a `Violation`, or another kind of misbehaviour."""
        self.counts[violation] += 1
        now_s = self._now_s()
        key = (host, violation)
        if key not in self._lines and self._is_full(now_s):
            host = _OTHER_HOSTS
            key = (host, violation)
        last_s, left_out = self._lines.get(key, (None, 0))
        if last_s is not None and now_s - last_s < self._quiet_s:
            self._lines[key] = (last_s, left_out + 1)
            return
        self._lines[key] = (now_s, 0)
        self._lines.move_to_end(key)
        if left_out:
            message = f"{message} ({left_out} more from {host} since the last such line)"
        self._logger.warning("%s", message, extra=marked(event_of(violation), peer=host))

    def _is_full(self, now_s: float) -> bool:
        """Forgets the lines whose time is over, when there is no space for another one."""
        lines = self._lines
        while len(lines) >= self._MAX_REMEMBERED:
            if now_s - next(iter(lines.values()))[0] < self._quiet_s:
                return True
            lines.popitem(last=False)
        return False
