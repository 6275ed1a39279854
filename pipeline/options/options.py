"""Options of a data source as Spark hands them over: text by name, whose case means nothing.

Names starting with `kafka.` are the client's own (`kafka_settings.py`); any other must be known, so that a slip of the
pen is an error and not a default.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

KAFKA_PREFIX = "kafka."

_BOOLEANS = {"true": True, "false": False}


class OptionError(ValueError):
    """An option is unknown, missing, malformed or contradicts another; the message names it."""


class Options:
    """The options given, by their documented names."""

    def __init__(self, given: Mapping[str, str], known: Iterable[str]) -> None:
        """Raises OptionError for a name that is neither known nor the client's."""
        canonical = {name.lower(): name for name in known}
        self._values: dict[str, str] = {}
        self.kafka: dict[str, str] = {}
        for name, value in given.items():
            lowered = name.lower()
            if lowered.startswith(KAFKA_PREFIX):
                self.kafka[lowered.removeprefix(KAFKA_PREFIX)] = str(value)
            elif lowered in canonical:
                self._values[canonical[lowered]] = str(value)
            else:
                raise OptionError(f"Unknown option '{name}'{_closest(lowered, canonical)}")

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def text(self, name: str) -> str | None:
        """The value without the blanks around it; None when it is not given."""
        value = self._values.get(name)
        return None if value is None else value.strip()

    def given(self, names: Iterable[str]) -> list[str]:
        """Those of `names` that are given, in that order."""
        return [name for name in names if name in self._values]

    def boolean(self, name: str, default: bool) -> bool:
        """Raises OptionError."""
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in _BOOLEANS:
            raise OptionError(f"Option '{name}' must be true or false, not '{text}'")
        return _BOOLEANS[text.lower()]

    def positive(self, name: str) -> int | None:
        """A whole number from 1 on; None when it is not given. Raises OptionError."""
        number = self.number(name)
        if number is not None and number <= 0:
            raise OptionError(f"Option '{name}' must be positive, not {number}")
        return number

    def not_negative(self, name: str, default: int) -> int:
        """A whole number from 0 on. Raises OptionError."""
        number = self.number(name)
        if number is not None and number < 0:
            raise OptionError(f"Option '{name}' must not be negative, not {number}")
        return default if number is None else number

    def number(self, name: str) -> int | None:
        """A whole number; None when it is not given. Raises OptionError."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            raise OptionError(f"Option '{name}' must be a whole number, not '{text}'") from None

    def at_most_one(self, names: Iterable[str]) -> str | None:
        """The one of `names` that is given. Raises OptionError, naming them, when there are several."""
        given = self.given(names)
        if len(given) > 1:
            listed = " and ".join(f"'{name}'" for name in given)
            raise OptionError(f"Options {listed} contradict each other: give one of them")
        return given[0] if given else None


def _closest(name: str, canonical: Mapping[str, str]) -> str:
    matches = difflib.get_close_matches(name, canonical, n=1)
    return f"; did you mean '{canonical[matches[0]]}'?" if matches else ""
