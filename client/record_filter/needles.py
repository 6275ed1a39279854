"""Finds bytes that each record that matches a query must contain, so that other batches need not be decoded.

A JSON text may hide a character behind an escape (`\\u0061` is `a`), so a needle from JSON counts as found where the
bytes `\\u` are. Other escapes hide only quotes, slashes and control characters, at which the needle is cut.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from .syntax import And, BytesTerm, Or, PathTerm, Query, Word

_ESCAPE = b"\\u"
_HIDDEN = re.compile(r'["\\/\x00-\x1f\x7f]')
_MAY_BE_A_NUMBER = re.compile(r"[-+.0-9eEINafinty]*")
"""A number has several spellings (42, 4.2e1, Infinity), so such a literal gives no needle."""
_MAX_ALTERNATIVES = 8


@dataclass(frozen=True, slots=True)
class Needles:
    """At least one of `alternatives` is in the bytes of each match. `may_be_escaped`: or the bytes `\\u` are."""

    alternatives: tuple[bytes, ...]
    may_be_escaped: bool

    def all(self) -> tuple[bytes, ...]:
        """Everything to look for."""
        return (*self.alternatives, _ESCAPE) if self.may_be_escaped else self.alternatives

    def worth(self) -> tuple[int, int]:
        """The larger, the fewer batches contain the needles."""
        return -len(self.all()), min(map(len, self.alternatives))


def needles_of(query: Query) -> Needles | None:
    """The best needles of a query; None when a match need not contain any given bytes."""
    if isinstance(query, Word):
        return _plain(query.text)
    if isinstance(query, BytesTerm):
        return _of_bytes(query)
    if isinstance(query, PathTerm):
        return _of_path(query)
    if isinstance(query, And):
        found = [needles for part in query.parts if (needles := needles_of(part)) is not None]
        return max(found, key=Needles.worth, default=None)
    if isinstance(query, Or):
        parts = [needles_of(part) for part in query.parts]
        alternatives: list[bytes] = []
        for part in parts:
            if part is None:
                return None
            alternatives += part.alternatives
        if len(alternatives) > _MAX_ALTERNATIVES:
            return None
        return Needles(tuple(alternatives), any(part is not None and part.may_be_escaped for part in parts))
    return None


def _plain(text: str) -> Needles | None:
    return Needles((text.encode(),), may_be_escaped=False) if text else None


def _of_bytes(term: BytesTerm) -> Needles | None:
    """A missing header is different from any literal, so `!=` gives no needle."""
    if term.operator == "!=":
        return None
    texts = [term.name] if term.field == "header" else []
    if term.operator in ("=", ":", "^"):
        texts.append(term.literal)
    return _plain(max(texts, key=len, default=""))


def _of_path(term: PathTerm) -> Needles | None:
    if term.operator == "!=":
        return None
    texts = [part for step in term.path if isinstance(step, str) for part in _HIDDEN.split(step)]
    if term.operator in ("=", ":", "^") and not _MAY_BE_A_NUMBER.fullmatch(term.literal):
        texts += _HIDDEN.split(term.literal)
    text = max(texts, key=len, default="")
    return Needles((text.encode(),), may_be_escaped=True) if text else None
