"""Logs many similar events, such as changes of thousands of partitions, as one line with a count."""

import logging
from collections.abc import Sequence

__all__ = ["log_gathered"]

_WRITTEN_OUT = 3


def log_gathered(logger: logging.Logger, level: int, events: Sequence[str]) -> None:
    """Log the events in one line: the first three are written out, the rest are counted.

    At level debug each event has its line. Without events nothing is logged.
    """
    if not events:
        return
    more = len(events) - _WRITTEN_OUT
    if more > 0 and logger.isEnabledFor(logging.DEBUG):
        for event in events:
            logger.log(level, "%s", event, stacklevel=2)
        return
    counted = f"; and {more} more like these" if more > 0 else ""
    logger.log(level, "%s%s", "; ".join(events[:_WRITTEN_OUT]), counted, stacklevel=2)
