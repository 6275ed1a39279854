"""The log: one line an event, to standard error."""

import logging
import sys

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLine(logging.Formatter):
    """Keeps an event to its line whatever a client put into a name; only tracebacks take more lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """The line without its traceback, control characters written as escapes."""
        line = super().formatMessage(record)
        if line.isprintable():
            return line
        return "".join(
            character if character.isprintable() else character.encode("unicode_escape").decode() for character in line
        )


def log_to_stderr(level: str) -> None:
    """Send events of at least this level (``INFO``) to standard error, and nowhere else."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLine(_FORMAT))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
