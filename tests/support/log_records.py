"""Makes log records that keep no objects alive."""

import logging
from typing import Any

__all__ = ["hold_no_objects"]

_PLAIN = (str, bytes, int, float, type(None))


class _Told:
    """An object's text, taken early so that the object can be freed."""

    def __init__(self, told: object) -> None:
        self._text = str(told)
        self._representation = repr(told)

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return self._representation


class _Record(logging.LogRecord):
    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        if isinstance(self.args, tuple):
            self.args = tuple(each if isinstance(each, _PLAIN) else _Told(each) for each in self.args)


def hold_no_objects() -> None:
    """Make log records keep texts instead of objects.

    pytest keeps each record until its test ends, with its arguments. The arguments of kafka-python are exceptions
    and connections, which keep a socket for each failed connection. So a test with long waits would use up the
    descriptors of the process.
    """
    logging.setLogRecordFactory(_Record)
