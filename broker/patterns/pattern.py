"""Patterns of names, such as the topics that a member of a consumer group subscribes to by a regular expression."""

from collections.abc import Generator, Iterable

from .automaton import Automaton
from .syntax import parse
from .walk import Walk

__all__ = ["Pattern", "check_pattern", "compile_pattern"]


def check_pattern(text: str) -> None:
    """Raises PatternError. Takes about a millisecond at most, whatever the text is."""
    parse(text)


def compile_pattern(text: str) -> Generator[None, None, "Pattern"]:
    """Read a pattern, in steps of about 1.5 ms at most, whatever it is; raises PatternError."""
    node = parse(text)
    yield
    return Pattern(Automaton(node))


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
