"""Checks the values of words that tests give to faults and acts, in Python or in JSON.

A value comes from the caller of a method, or from an HTTP client, whose JSON may use another word for it. Therefore an
error keeps word and value apart, so that each side reads its own.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["MAX_INT32", "WordError", "text_word", "unknown", "unknown_word", "whole_number"]

MAX_INT32 = 2**31 - 1
_MAX_TEXT_BYTES = 32_767
_MOST_SHOWN = 100


class WordError(ValueError):
    """``word`` has a value without a meaning. ``wanted``: the values with one, such as "a text"."""

    def __init__(self, word: str, wanted: str, value: object) -> None:
        super().__init__(f"{word} is {wanted}, not {_shown(value)}")
        self.word = word
        self.wanted = wanted
        self.value = value

    def in_json(self, words: Mapping[str, str]) -> str:
        """The line for a client that sent JSON. ``words``: the names in JSON of words that have another name there."""
        value = _shortened(json.dumps(self.value))
        return f"{words.get(self.word, self.word)} is {self.wanted}, not {value}"


def text_word(value: Any, word: str, *, may_be_empty: bool = False) -> str:
    """``value`` when it is a text that Kafka's protocol can carry. Raises WordError."""
    if not isinstance(value, str):
        raise WordError(word, "a text", value)
    if not value and not may_be_empty:
        raise WordError(word, "a text of one character or more", value)
    try:
        size_bytes = len(value.encode())
    except UnicodeEncodeError:
        raise WordError(word, "a text of whole Unicode characters", value) from None
    if size_bytes > _MAX_TEXT_BYTES:
        raise WordError(word, f"a text of at most {_MAX_TEXT_BYTES} bytes", value)
    return value


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


def _shown(value: object) -> str:
    try:
        return _shortened(repr(value))
    except ValueError:  # Python refuses to write numbers of more than 4300 digits
        return "a number of too many digits"


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
