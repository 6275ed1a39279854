"""Marks log lines that clients can cause as often as they like: log them with ``extra=QUIET``."""

from collections.abc import Mapping

__all__ = ["QUIET", "QUIET_S"]

QUIET_S = "quiet_s"
"""The attribute of a log record that `LogRateLimit` reads: one line in so many seconds; 0: no limit."""
QUIET: Mapping[str, object] = {QUIET_S: 30.0}
"""At most one line in so many seconds from its place in the source; the next line tells how many were left out."""
