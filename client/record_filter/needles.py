"""Finds bytes that each record that matches a query must contain, so that other batches need not be decoded.

A JSON text may hide a character behind an escape (`\\u0061` is `a`), so a needle from JSON counts as found where the
bytes `\\u` are. Other escapes hide only quotes, slashes and control characters, at which the needle is cut.
"""

from __future__ import annotations

import re

from ...base.frozen import frozen
from .syntax import And, BytesTerm, Or, PathTerm, Query, Word

_ESCAPE = b"\\u"
_HIDDEN = re.compile(r'["\\/\x00-\x1f\x7f]')
_MAY_BE_A_NUMBER = re.compile(r"[-+.0-9eEINafinty]*")
"""A number has several spellings (42, 4.2e1, Infinity), so such a literal gives no needle."""
_MAX_ALTERNATIVES = 8


@frozen
class Needles:
    """At least one of `alternatives` is in the bytes of each match. `may_be_escaped`: or the bytes `\\u` are.

    `are_names`: they are names of members or headers, which most records of a topic have.
    """

    alternatives: tuple[bytes, ...]
    may_be_escaped: bool
    are_names: bool = False

    def all(self) -> tuple[bytes, ...]:
        """Everything to look for."""
        return (*self.alternatives, _ESCAPE) if self.may_be_escaped else self.alternatives

    def worth(self) -> tuple[bool, int, int]:
        """The larger, the fewer batches contain the needles."""
        return not self.are_names, -len(self.all()), min(map(len, self.alternatives))


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
        known = [part for part in parts if part is not None]
        return Needles(
            tuple(alternatives), any(each.may_be_escaped for each in known), any(each.are_names for each in known)
        )
    return None


def _plain(text: str) -> Needles | None:
    return Needles((text.encode(),), may_be_escaped=False) if text else None


def _of_bytes(term: BytesTerm) -> Needles | None:
    """A missing header is different from any literal, so `!=` gives no needle."""
    if term.operator == "!=":
        return None
    if term.operator in ("=", ":", "^") and term.literal:
        return _plain(term.literal)
    return Needles((term.name.encode(),), may_be_escaped=False, are_names=True) if term.name else None


def _of_path(term: PathTerm) -> Needles | None:
    if term.operator == "!=":
        return None
    if term.operator in ("=", ":", "^") and not _MAY_BE_A_NUMBER.fullmatch(term.literal):
        text = max(_HIDDEN.split(term.literal), key=len)
        if text:
            return Needles((text.encode(),), may_be_escaped=True)
    names = [part for step in term.path if isinstance(step, str) for part in _HIDDEN.split(step)]
    name = max(names, key=len, default="")
    return Needles((name.encode(),), may_be_escaped=True, are_names=True) if name else None
