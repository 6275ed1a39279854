"""The parts of a pattern."""

from enum import Enum, auto
from typing import NamedTuple

__all__ = [
    "NOTHING",
    "Characters",
    "Choice",
    "Condition",
    "Node",
    "Repetition",
    "Sequence",
    "choice",
    "repetition",
    "sequence",
]


class Characters(NamedTuple):
    """One character of a set (see ``characters.py``)."""

    mask: int

    @property
    def weight(self) -> int:
        return 1

    @property
    def most_repeats(self) -> int:
        return 1


class Condition(Enum):
    """A condition on the place between two characters, or at an end of the text."""

    TEXT_BEGINS = auto()
    TEXT_ENDS = auto()
    LINE_BEGINS = auto()
    LINE_ENDS = auto()
    WORD_EDGE = auto()
    NO_WORD_EDGE = auto()

    @property
    def weight(self) -> int:
        return 1

    @property
    def most_repeats(self) -> int:
        return 1


class Sequence(NamedTuple):
    """All of these, one after the other. ``weight``: bound of the states; ``most_repeats``: of one part of the node."""

    items: "tuple[Node, ...]"
    weight: int
    most_repeats: int


class Choice(NamedTuple):
    """One of these."""

    options: "tuple[Node, ...]"
    weight: int
    most_repeats: int


class Repetition(NamedTuple):
    """``most`` None: without end."""

    item: "Node"
    least: int
    most: int | None
    weight: int
    most_repeats: int


Node = Characters | Condition | Sequence | Choice | Repetition

NOTHING = Sequence((), 1, 1)


def sequence(items: "list[Node]") -> Node:
    items = [item for item in items if item is not NOTHING]
    if not items:
        return NOTHING
    if len(items) == 1:
        return items[0]
    return Sequence(tuple(items), sum(item.weight for item in items), max(item.most_repeats for item in items))


def choice(options: "list[Node]") -> Node:
    if len(options) == 1:
        return options[0]
    found = 0
    for option in options:
        if not isinstance(option, Characters):
            break
        found |= option.mask
    else:
        return Characters(found)
    return Choice(
        tuple(options), sum(option.weight for option in options), max(option.most_repeats for option in options)
    )


def repetition(item: Node, least: int, most: int | None) -> Node:
    if item is NOTHING or most == 0:
        return NOTHING
    if least == most == 1:
        return item
    count = max(least if most is None else most, 1)
    return Repetition(item, least, most, item.weight * count + (least != most), item.most_repeats * count)
