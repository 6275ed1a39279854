"""Checks the values of words that tests give to faults and acts, in Python or in JSON.

A value comes from the caller of a method, or from an HTTP client, whose JSON may use another word for it. Therefore an
error keeps word and value apart, so that each side reads its own.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = [
    "MAX_INT32",
    "MAX_INT64",
    "WordError",
    "partition_word",
    "seconds",
    "shown",
    "text_word",
    "unknown",
    "unknown_word",
    "utf8",
    "whole_number",
]

MAX_INT32 = 2**31 - 1
MAX_INT64 = 2**63 - 1
_MAX_TEXT_BYTES = 32_767
_MOST_SECONDS = 86_400 * 366
_MOST_SHOWN = 100


class WordError(ValueError):
    """``word`` has a value without a meaning. ``wanted``: the values with one, such as "a text"."""

    def __init__(self, word: str, wanted: str, value: object) -> None:
        super().__init__(f"{word} is {wanted}, not {shown(value)}")
        self.word = word
        self.wanted = wanted
        self.value = value

    def in_json(self, words: Mapping[str, str]) -> str:
        """The line for a client that sent JSON. ``words``: the names in JSON of words that have another name there."""
        value = _shortened(json.dumps(self.value))
        return f"{words.get(self.word, self.word)} is {self.wanted}, not {value}"


def text_word(value: Any, word: str, *, may_be_empty: bool = False) -> str:
    """``value`` when it is a text that Kafka's protocol can carry. Raises WordError."""
    size_bytes = len(utf8(value, word))
    if not size_bytes and not may_be_empty:
        raise WordError(word, "a text of one character or more", value)
    if size_bytes > _MAX_TEXT_BYTES:
        raise WordError(word, f"a text of at most {_MAX_TEXT_BYTES} bytes", value)
    return str(value)


def utf8(value: Any, word: str) -> bytes:
    """``value`` in UTF-8 when it is a text. Raises WordError."""
    if not isinstance(value, str):
        raise WordError(word, "a text", value)
    try:
        return value.encode()
    except UnicodeEncodeError:
        raise WordError(word, "a text of whole Unicode characters", value) from None


def partition_word(value: Any) -> int | None:
    """``value`` when it is the number of a partition, or None. Raises WordError."""
    return None if value is None else whole_number(value, "partition", 0)


def seconds(value: Any, word: str) -> float:
    """``value`` when it is a number of seconds, up to a year. Raises WordError."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _MOST_SECONDS:
        raise WordError(word, f"a number of seconds from 0 to {_MOST_SECONDS}", value)
    return float(value)


def whole_number(value: Any, word: str, least: int, most: int = MAX_INT32) -> int:
    """``value`` when it is such a number. Raises WordError."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise WordError(word, f"a whole number from {least} to {most}", value)
    return value


def unknown(what: str, name: str, known: Mapping[str, str]) -> str:
    """The line that refuses a name, with those that are nearest. ``known``: names by their spelling to compare."""
    return f"{_refused(what, name)}{_hint(name, known)}"


def unknown_word(what: str, name: str, known: Iterable[str], *, place: str = "") -> str:
    """As `unknown`, for a few names, which are all listed when none is near. ``place``: words behind the name."""
    names = list(known)
    hint = _hint(name, {each.replace("_", "").lower(): each for each in names})
    listed = f"; there are {', '.join(names)}" if names else ""
    return f"{_refused(what, name)}{place}{hint or listed}"


def _refused(what: str, name: str) -> str:
    return f"there is no {what} {_shortened(repr(name))}"


def _hint(name: str, known: Mapping[str, str]) -> str:
    from difflib import get_close_matches  # only bad input needs it

    near = [known[each] for each in get_close_matches(name[:_MOST_SHOWN].replace("_", "").lower(), known, 2, 0.5)]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def shown(value: object) -> str:
    """The value in words for an error, cut to 100 characters."""
    try:
        return _shortened(repr(value))
    except Exception:  # Python refuses to write numbers of more than 4300 digits, and a test's class may have a bug
        return f"a value of type {type(value).__name__} that cannot be shown"


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
