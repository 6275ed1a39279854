"""Lines of the log that clients can have written as often as they like: pass ``extra=QUIET`` with those."""

from collections.abc import Mapping

__all__ = ["QUIET", "QUIET_S"]

QUIET_S = "quiet_s"
"""The attribute of a record by which `LogRateLimit` knows it."""
QUIET: Mapping[str, object] = {QUIET_S: 30.0}
"""One line from its place in the source in so many seconds, and the next tells how many were left out."""
