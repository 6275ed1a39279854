"""Hosts with limits of their own that were set while the broker runs: whether they are there nobody has checked."""

import contextlib
import logging
import time
from collections.abc import Callable, Sequence
from typing import Self

from .settings import addresses_of

__all__ = ["KnownHosts"]

logger = logging.getLogger(__name__)

_PATIENCE_S = 5.0
_MOST_TOLD = 5


class KnownHosts:
    """Looks up hosts: those that are unknown have no addresses, and no more is looked up after ``_PATIENCE_S``, for a
    server of names may be silent. The other limits hold all the same. At the end of the ``with`` one line in the log
    tells of all that are unknown.

    ``resolve`` blocks, and raises OSError. ``now_s``: a stopwatch.
    """

    def __init__(
        self,
        resolve: Callable[[str], Sequence[str]] = addresses_of,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolve = resolve
        self._now_s = now_s
        self._ends_s = now_s() + _PATIENCE_S
        self._unknown: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        unknown = self._unknown
        if unknown:
            more = f" and {len(unknown) - _MOST_TOLD} more" if len(unknown) > _MOST_TOLD else ""
            shown = ", ".join(unknown[:_MOST_TOLD])
            logger.error("max.connections.per.ip.overrides: no address is known of %s%s", shown, more)

    def addresses_of(self, host: str) -> Sequence[str]:
        if self._now_s() < self._ends_s:
            with contextlib.suppress(OSError):
                return self._resolve(host)
        self._unknown.append(host)
        return ()
