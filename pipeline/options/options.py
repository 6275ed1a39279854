"""Options of a data source as Spark passes them: text by name, not case-sensitive.

Names that begin with `kafka.` are settings of the client (`kafka_settings.py`). All other names must be known, so that
a misspelled name is an error instead of a default.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping

from ...client.given_options import OptionError

KAFKA_PREFIX = "kafka."

_BOOLEANS = {"true": True, "false": False}


def listed_names(text: str) -> tuple[str, ...]:
    """Returns the names in a list like `a, b`, without surrounding blanks and empty parts."""
    return tuple(name for part in text.split(",") if (name := part.strip()))


class Options:
    """The options set by the user, by their documented names."""

    def __init__(self, given: Mapping[str, str], known: Iterable[str]) -> None:
        """Raises OptionError for a name that is neither in `known` nor begins with `kafka.`."""
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
        """Returns the value without surrounding blanks; None if not set."""
        value = self._values.get(name)
        return None if value is None else value.strip()

    def given(self, names: Iterable[str]) -> list[str]:
        """Returns the names that are set, in the order of `names`."""
        return [name for name in names if name in self._values]

    def boolean(self, name: str, default: bool) -> bool:
        """Returns the value of a true/false option. Raises OptionError."""
        text = self.text(name)
        if text is None:
            return default
        if text.lower() not in _BOOLEANS:
            raise OptionError(f"Option '{name}' must be true or false, not '{text}'")
        return _BOOLEANS[text.lower()]

    def positive(self, name: str) -> int | None:
        """Returns a whole number of at least 1; None if not set. Raises OptionError."""
        number = self.number(name)
        if number is not None and number <= 0:
            raise OptionError(f"Option '{name}' must be positive, not {number}")
        return number

    def not_negative(self, name: str, default: int) -> int:
        """Returns a whole number of at least 0. Raises OptionError."""
        number = self.number(name)
        if number is not None and number < 0:
            raise OptionError(f"Option '{name}' must not be negative, not {number}")
        return default if number is None else number

    def number(self, name: str) -> int | None:
        """Returns a whole number; None if not set. Raises OptionError."""
        text = self.text(name)
        if text is None:
            return None
        try:
            return int(text)
        except ValueError:
            raise OptionError(f"Option '{name}' must be a whole number, not '{text}'") from None

    def at_most_one(self, names: Iterable[str]) -> str | None:
        """Returns the name that is set, or None. Raises OptionError if several are set."""
        given = self.given(names)
        if len(given) > 1:
            listed = " and ".join(f"'{name}'" for name in given)
            raise OptionError(f"Options {listed} contradict each other: give one of them")
        return given[0] if given else None


def _closest(name: str, canonical: Mapping[str, str]) -> str:
    matches = difflib.get_close_matches(name, canonical, n=1)
    return f"; did you mean '{canonical[matches[0]]}'?" if matches else ""
