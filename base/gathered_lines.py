"""Logs many similar events, such as changes of thousands of partitions, as one line with a count."""

import logging
from collections.abc import Sequence

from .event_marks import marked

__all__ = ["log_gathered"]

_WRITTEN_OUT = 3


def log_gathered(logger: logging.Logger, level: int, event: str, lines: Sequence[str]) -> None:
    """Log the lines as one: the first three are written out, the rest are counted. ``event``: their id.

    At level debug each has its own line. Without lines nothing is logged.
    """
    if not lines:
        return
    more = len(lines) - _WRITTEN_OUT
    if more > 0 and logger.isEnabledFor(logging.DEBUG):
        for line in lines:
            logger.log(level, "%s", line, stacklevel=2, extra=marked(event))
        return
    counted = f"; and {more} more like these" if more > 0 else ""
    text = "; ".join(lines[:_WRITTEN_OUT])
    logger.log(level, "%s%s", text, counted, stacklevel=2, extra=marked(event, count=len(lines)))
