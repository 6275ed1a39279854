"""The automaton of a pattern, without order or memory: a set of states says all about what was read.

**How** A set of states is a bit mask. A state reads one character, or it is a gate that is passed without reading: one
that is always open (the start of each round of a loop), or one with a condition. ``follows`` has for each state the
states behind it. States are numbered from the end of the pattern, and state 0 is its end.
"""

from functools import reduce
from itertools import compress
from operator import or_

from .nodes import Characters, Choice, Condition, Node, Repetition, Sequence

__all__ = ["Automaton", "side_of"]

_TEXT_EDGE = ""
_WORD = "w"
_OTHER = "."
_BITS = bytes.maketrans(b"01", b"\0\1")


class Automaton:
    """``entry``: the states in which reading begins. Immutable after it was built."""

    __slots__ = (
        "_chain",
        "_conditions",
        "_follows",
        "_is_chained",
        "_loops",
        "_newest",
        "_readers",
        "_readers_of",
        "entry",
    )

    def __init__(self, node: Node) -> None:
        self._follows = [0]
        self._is_chained = ["0"]
        self._newest = 1
        self._readers: dict[int, int] = {}
        self._conditions: dict[Condition, int] = {}
        self._loops = 0
        self.entry = self._enter(node, 1)
        self._chain = int("".join(reversed(self._is_chained)), 2)
        self._readers_of: dict[str, int] = {}

    @property
    def size(self) -> int:
        return len(self._follows)

    @property
    def has_conditions(self) -> bool:
        return bool(self._conditions)

    def _enter(self, node: Node, after: int) -> int:
        """Add the states of a node; return those in which it begins. ``after``: the states behind the node."""
        match node:
            case Characters(mask):
                state = self._add(after)
                self._readers[mask] = self._readers.get(mask, 0) | state
                return state
            case Sequence(items):
                for item in reversed(items):
                    after = self._enter(item, after)
                return after
            case Repetition():
                return self._repeat(node, after)
            case Choice(options):
                return reduce(or_, [self._enter(option, after) for option in options])
            case Condition():
                state = self._add(after)
                self._conditions[node] = self._conditions.get(node, 0) | state
                return state

    def _add(self, after: int) -> int:
        # Most states lead to the one before them alone. For all of these together, one shift finds what follows.
        self._is_chained.append("1" if after == self._newest else "0")
        self._newest = 1 << len(self._follows)
        self._follows.append(after)
        return self._newest

    def _repeat(self, node: Repetition, after: int) -> int:
        required = node.least
        if node.most is None:
            loop = self._add(0)
            entry = self._enter(node.item, loop)
            self._follows[loop.bit_length() - 1] = after | entry  # never chained: two or more states follow
            self._loops |= loop
            after = entry if required else loop
            required -= 1
        else:
            end = after
            for _ in range(node.most - node.least):
                after = end | self._enter(node.item, after)
        for _ in range(required):
            after = self._enter(node.item, after)
        return after

    def read(self, states: int, before: str, character: str) -> int:
        """The states after one more character. ``before``: the side of the characters that were read."""
        readers = self._readers_of.get(character)
        if readers is None:
            readers = sum(states for mask, states in self._readers.items() if mask >> ord(character) & 1)
            self._readers_of[character] = readers
        active = self._behind_gates(states, before, side_of(character)) & readers
        found = (active & self._chain) >> 1
        return reduce(or_, compress(self._follows, _bits_of(active & ~self._chain)), found)

    def is_end(self, states: int, before: str) -> bool:
        """Whether the pattern may end here, where the text does."""
        return bool(self._behind_gates(states, before, _TEXT_EDGE) & 1)

    def _behind_gates(self, states: int, before: str, after: str) -> int:
        """With the states behind all gates that are open between these two sides."""
        gates = self._loops
        for condition, members in self._conditions.items():
            if _holds(condition, before, after):
                gates |= members
        waiting = states & gates
        while waiting:
            gate = waiting.bit_length() - 1
            reached = self._follows[gate]
            waiting = waiting ^ 1 << gate | reached & gates & ~states
            states |= reached
        return states


def side_of(character: str) -> str:
    """The kind of a character for conditions: no character (an edge of the text), a new line, part of a word, other."""
    if not character or character == "\n":
        return character
    return _WORD if character.isalnum() or character == "_" else _OTHER


def _holds(condition: Condition, before: str, after: str) -> bool:
    match condition:
        case Condition.TEXT_BEGINS:
            return before == _TEXT_EDGE
        case Condition.TEXT_ENDS:
            return after == _TEXT_EDGE
        case Condition.LINE_BEGINS:
            return before in (_TEXT_EDGE, "\n")
        case Condition.LINE_ENDS:
            return after in (_TEXT_EDGE, "\n")
        case Condition.WORD_EDGE:
            return (before == _WORD) != (after == _WORD)
        case Condition.NO_WORD_EDGE:
            return (before == _WORD) == (after == _WORD)


def _bits_of(states: int) -> bytes:
    """For each state, from state 0: 1 when it is in the set."""
    return bin(states)[:1:-1].encode().translate(_BITS)
