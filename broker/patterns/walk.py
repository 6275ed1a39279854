"""Runs the automaton of a pattern over names, in steps.

**How** The sets of states that were met are kept, so that most characters of the next name are only looked up. A set is
known by its number. When there are too many sets, all are forgotten.
"""

from collections.abc import Generator

from .automaton import Automaton, side_of

__all__ = ["MOST_SETS", "Walk"]

MOST_SETS = 200
_WORK_OF_A_STEP = 500
_WORK_OF_A_SET = 50
_WORK_OF_A_NAME = 10
_NO_SET = -1


class Walk:
    """``size``: the number of sets that are kept, up to MOST_SETS."""

    __slots__ = ("_automaton", "_ends", "_moves", "_numbers", "_sets", "_work")

    def __init__(self, automaton: Automaton) -> None:
        self._automaton = automaton
        self._numbers: dict[tuple[int, str], int] = {}
        self._sets: list[tuple[int, str]] = []
        self._moves: list[dict[str, int]] = []
        self._ends: dict[int, bool] = {}
        self._work = 0
        self._number_of(automaton.entry, "")

    @property
    def size(self) -> int:
        return len(self._sets)

    def steps(self, name: str) -> Generator[None, None, bool]:
        """Whether the whole name matches. One name after the other, each to its end."""
        if not name.isascii():
            return False
        self._work += _WORK_OF_A_NAME + len(name) // 4
        number = self._number_of(self._automaton.entry, "")
        for character in name:
            following = self._moves[number].get(character)
            if following is None:
                following = self._move(number, character)
            if self._work > _WORK_OF_A_STEP:
                self._work = 0
                yield
            if following == _NO_SET:
                return False
            number = following
        end = self._ends.get(number)
        if end is None:
            end = self._ends[number] = self._automaton.is_end(*self._sets[number])
        return end

    def _move(self, number: int, character: str) -> int:
        """The set after one more character. It may have the number of another set that was forgotten."""
        automaton = self._automaton
        self._work += _WORK_OF_A_SET + automaton.size
        states, before = self._sets[number]
        states = automaton.read(states, before, character)
        if self.size >= MOST_SETS:
            for kept in (self._numbers, self._sets, self._moves, self._ends):
                kept.clear()
            return self._number_of(states, side_of(character)) if states else _NO_SET
        following = self._number_of(states, side_of(character)) if states else _NO_SET
        self._moves[number][character] = following
        return following

    def _number_of(self, states: int, before: str) -> int:
        key = states, before if self._automaton.has_conditions else ""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._sets)
            self._sets.append(key)
            self._moves.append({})
        return number
