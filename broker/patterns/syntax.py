"""Reads the text of a pattern: the syntax of RE2, which RE2/J in Kafka 4 takes too.

**Limits** Captured groups and the difference between greedy and lazy repetition mean nothing here: only whether a whole
name matches is ever asked. RE2 has no look-around, no back references and no possessive repetition.
"""

from .character_classes import character_class, class_escape, escaped_character
from .characters import ALL, between, both_cases, inverse
from .error import PatternError
from .nodes import Characters, Condition, Node, choice, repetition, sequence

__all__ = ["MOST_CHARACTERS", "MOST_STATES", "parse"]

MOST_CHARACTERS = 1_000
MOST_STATES = 1_500
MOST_REPEATS = 1_000
MOST_NESTED = 100
_NEW_LINE = 1 << ord("\n")
_CONDITIONS = {
    "A": Condition.TEXT_BEGINS,
    "z": Condition.TEXT_ENDS,
    "b": Condition.WORD_EDGE,
    "B": Condition.NO_WORD_EDGE,
}
_REPETITIONS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
_FLAGS = "imsU"
_DIGITS = frozenset("0123456789")
_MARKS = frozenset("\\^$.[]|()*+?{")
_PLAIN = [Characters(1 << code) for code in range(128)]
_IN_ANY_CASE = [Characters(both_cases(1 << code)) for code in range(128)]
_ANY, _NO_NEW_LINE = Characters(ALL), Characters(inverse(_NEW_LINE))


def parse(text: str) -> Node:
    """Read a whole pattern; raises PatternError."""
    if len(text) > MOST_CHARACTERS:
        raise PatternError(f"the pattern is longer than {MOST_CHARACTERS} characters", MOST_CHARACTERS)
    parser = _Parser(text)
    while parser.at < len(text):
        parser.read()
    return parser.end()


class _Group:
    """A group that is open: the options before this one, and the items of this one. ``flags`` hold again behind it."""

    __slots__ = ("flags", "items", "options", "start")

    def __init__(self, start: int, flags: frozenset[str]) -> None:
        self.start = start
        self.flags = flags
        self.options: list[Node] = []
        self.items: list[Node] = []

    def node(self) -> Node:
        return choice([*self.options, sequence(self.items)])


class _Parser:
    """``at``: the position of the next character."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.at = 0
        self._flags: frozenset[str] = frozenset()
        self._groups: list[_Group] = []
        self._group = _Group(0, self._flags)
        self._names: set[str] = set()
        self._follows_repetition = False

    def end(self) -> Node:
        if self._groups:
            raise PatternError("missing ')' of a group", self._group.start)
        node = self._group.node()
        self._check(node, 0)
        return node

    def read(self) -> None:
        """Read one element."""
        character = self._text[self.at]
        if character not in _MARKS:  # most are plain
            self.at += 1
            self._follows_repetition = False
            self._group.items.append(self._literal(ord(character)))
            return
        follows_repetition, self._follows_repetition = self._follows_repetition, False
        match character:
            case "*" | "+" | "?":
                self._repeat(*_REPETITIONS[character], self.at + 1, follows_repetition)
            case "{" if (counted := self._counted()) is not None:
                self._repeat(*counted, follows_repetition)
            case "\\":
                self._escape()
            case "(":
                self._open()
            case ")":
                self._close()
            case _:
                self.at += 1
                if character == "[":
                    self._add(self._class())
                elif character == "|":
                    self._group.options.append(sequence(self._group.items))
                    self._group.items = []
                else:
                    self._add(self._simple(character))

    def _add(self, node: Node) -> None:
        self._group.items.append(node)

    def _simple(self, character: str) -> Node:
        match character:
            case ".":
                return _ANY if "s" in self._flags else _NO_NEW_LINE
            case "^":
                return Condition.LINE_BEGINS if "m" in self._flags else Condition.TEXT_BEGINS
            case "$":
                return Condition.LINE_ENDS if "m" in self._flags else Condition.TEXT_ENDS
        return self._literal(ord(character))

    def _literal(self, code: int) -> Node:
        if code < 128:
            return (_IN_ANY_CASE if self._ignores_case else _PLAIN)[code]
        return Characters(between(code, code, self._ignores_case))

    @property
    def _ignores_case(self) -> bool:
        return "i" in self._flags

    def _class(self) -> Node:
        found, self.at = character_class(self._text, self.at, self._ignores_case)
        return Characters(found)

    def _escape(self) -> None:
        text, start = self._text, self.at
        kind = text[start + 1 : start + 2]
        if kind in _CONDITIONS:
            self.at += 2
            self._add(_CONDITIONS[kind])
        elif kind == "Q":
            end = text.find("\\E", start + 2)
            quoted = text[start + 2 :] if end < 0 else text[start + 2 : end]
            self.at = len(text) if end < 0 else end + 2
            for character in quoted:
                self._add(self._literal(ord(character)))
        elif (escape := class_escape(text, start, self._ignores_case)) is not None:
            found, self.at = escape
            self._add(Characters(found))
        else:
            code, self.at = escaped_character(text, start)
            self._add(self._literal(code))

    def _counted(self) -> tuple[int, int | None, int] | None:
        """The numbers of ``{2}``, ``{2,}`` or ``{2,5}`` at this place, and the position behind them.

        None when the brace is a plain character.
        """
        text, at = self._text, self.at + 1
        least, at = _number(text, at)
        if least is None:
            return None
        most: int | None = least
        if text[at : at + 1] == ",":
            most, at = _number(text, at + 1)
            if most is None and text[at : at + 1] != "}":
                return None
        if text[at : at + 1] != "}":
            return None
        if max(least, most or 0) > MOST_REPEATS:
            raise PatternError(f"more than {MOST_REPEATS} repetitions", self.at)
        if most is not None and most < least:
            raise PatternError("the second number of a repetition is smaller than the first", self.at)
        return least, most, at + 1

    def _repeat(self, least: int, most: int | None, end: int, follows_repetition: bool) -> None:
        start, self.at = self.at, end
        if self._text[end : end + 1] == "?":
            self.at += 1  # lazy
        if follows_repetition:
            raise PatternError("a repetition of a repetition", start)
        items = self._group.items
        if not items:
            raise PatternError("nothing stands before the mark of repetition", start)
        self._follows_repetition = True
        node = repetition(items[-1], least, most)
        if (most or least) > 1 and node.most_repeats > MOST_REPEATS:
            raise PatternError(f"more than {MOST_REPEATS} repetitions within each other", start)
        self._check(node, start)
        items[-1] = node

    def _check(self, node: Node, position: int) -> None:
        if node.weight > MOST_STATES:
            raise PatternError(f"the pattern is too large: more than {MOST_STATES} states", position)

    def _open(self) -> None:
        start, flags = self.at, self._flags
        self.at += 1
        if self._text[self.at : self.at + 1] == "?" and self._extension():
            return
        if len(self._groups) >= MOST_NESTED:
            raise PatternError(f"groups are nested more than {MOST_NESTED} deep", start)
        self._groups.append(self._group)
        self._group = _Group(start, flags)

    def _close(self) -> None:
        if not self._groups:
            raise PatternError("')' without '('", self.at)
        self.at += 1
        node = self._group.node()
        self._flags = self._group.flags
        self._group = self._groups.pop()
        self._add(node)

    def _extension(self) -> bool:
        """Read ``?...`` behind the opening of a group; return whether only flags stood there, and no group begins."""
        text, start = self._text, self.at - 1
        named = next((mark for mark in ("?P<", "?<") if text.startswith(mark, self.at)), None)
        if named is not None:
            return self._name(start, self.at + len(named))
        flags, is_negated, has_flag = set(self._flags), False, False
        for at in range(self.at + 1, len(text)):
            character = text[at]
            if character in ":)":
                if is_negated and not has_flag:
                    break
                self._flags, self.at = frozenset(flags), at + 1
                return character == ")"
            if character == "-" and not is_negated:
                is_negated, has_flag = True, False
            elif character in _FLAGS:
                has_flag = True
                (flags.discard if is_negated else flags.add)(character)
            else:
                break
        raise PatternError("a group of a kind that RE2 does not have", start)

    def _name(self, start: int, at: int) -> bool:
        end = self._text.find(">", at)
        name = self._text[at:end]
        if end < 0 or not name.replace("_", "a").isalnum() or not name.isascii():
            raise PatternError("a group's name has to be made of letters, digits and '_', and to end with '>'", start)
        if name in self._names:
            raise PatternError("two groups have the same name", start)
        self._names.add(name)
        self.at = end + 1
        return False


def _number(text: str, at: int) -> tuple[int | None, int]:
    """The number at this place, None without one, and the position behind it. Zeros may not stand before it."""
    end = at
    while text[end : end + 1] in _DIGITS:
        end += 1
    if end == at or (end > at + 1 and text[at] == "0"):
        return None, at
    return int(text[at:end]), end
