"""Patterns of names, such as the topics that a member of a consumer group subscribes to by a regular expression."""

from collections.abc import Generator, Iterable

from .automaton import Automaton
from .syntax import parse
from .walk import Walk

__all__ = ["Pattern", "compile_pattern"]


def compile_pattern(text: str) -> "Pattern":
    """Read a pattern; raises PatternError. Takes about 2 ms at most, whatever the text is."""
    return Pattern(Automaton(parse(text)))


class Pattern:
    """Matches names as a whole. A name with characters outside ASCII never matches."""

    __slots__ = ("_automaton",)

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton

    def matching(self, names: Iterable[str]) -> Generator[None, None, list[str]]:
        """Find the names that match, in steps of less than a millisecond, whatever the pattern is."""
        walk = Walk(self._automaton)
        found = []
        for name in names:
            is_match = yield from walk.steps(name)
            if is_match:
                found.append(name)
        return found
