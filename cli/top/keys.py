"""The state of the screen of ``pybroker top``, and how keys change it. Pure."""

from dataclasses import replace

from ...base.frozen import frozen
from .sections import SECTIONS

__all__ = ["KEYS_HELP", "ScreenState", "keys_in", "pressed"]

KEYS_HELP = "q quit  b t g one table  a all  s sort  r reverse  / filter  p pause  up down"
_ALL = -1
_TOPICS = 1
_MOST_FILTER = 60
_ENTER, _ESCAPE, _BACKSPACE, _CTRL_U = ("\r", "\n"), "\x1b", ("\x7f", "\b"), "\x15"
_MOVES = {"\x1b[A": -1, "\x1b[B": 1, "\x1b[5~": -10, "\x1b[6~": 10, "\x1bOA": -1, "\x1bOB": 1, "k": -1, "j": 1}
_LONGEST_SEQUENCE = 8


@frozen
class ScreenState:
    """The state of the screen.

    Attributes:
        section: the table that is shown alone; -1: all of them.
        sorts: the column that each table is sorted by.
        first: the row that a table alone begins with.
        is_typing: keys go into the filter.
    """

    section: int = _ALL
    sorts: tuple[int, ...] = tuple(each.first_sort for each in SECTIONS)
    is_reversed: bool = False
    filter: str = ""
    is_typing: bool = False
    is_paused: bool = False
    first: int = 0
    is_over: bool = False

    @property
    def sorted_section(self) -> int:
        """The table whose sort the keys change: with all of them on the screen, that of the topics."""
        return _TOPICS if self.section == _ALL else self.section


def pressed(state: ScreenState, key: str) -> ScreenState:
    """The state after a key: a character, or a whole escape sequence. Unknown keys do nothing."""
    if state.is_typing:
        return _typed(state, key)
    for number, section in enumerate(SECTIONS):
        if key == section.key:
            return replace(state, section=number, first=0)
    if key in _MOVES:
        return replace(state, first=max(0, state.first + _MOVES[key]))
    match key:
        case "q" | "Q":
            return replace(state, is_over=True)
        case "a":
            return replace(state, section=_ALL, first=0)
        case "s":
            at = state.sorted_section
            sorts = list(state.sorts)
            sorts[at] = (sorts[at] + 1) % len(SECTIONS[at].columns)
            return replace(state, sorts=tuple(sorts), first=0)
        case "r":
            return replace(state, is_reversed=not state.is_reversed, first=0)
        case "p" | " ":
            return replace(state, is_paused=not state.is_paused)
        case "/":
            return replace(state, is_typing=True, filter="", first=0)
        case "\x1b":
            return replace(state, filter="", first=0)
    return state


def _typed(state: ScreenState, key: str) -> ScreenState:
    if key in _ENTER:
        return replace(state, is_typing=False)
    if key == _ESCAPE:
        return replace(state, is_typing=False, filter="")
    if key in _BACKSPACE:
        return replace(state, filter=state.filter[:-1])
    if key == _CTRL_U:
        return replace(state, filter="")
    if len(key) == 1 and key.isprintable() and len(state.filter) < _MOST_FILTER:
        return replace(state, filter=state.filter + key)
    return state


def keys_in(text: str) -> list[str]:
    """The keys in what a terminal sent: characters, and escape sequences whole. A lone escape is the key Esc."""
    keys = []
    at = 0
    while at < len(text):
        end = at + 1
        if text[at] == _ESCAPE and text[end : end + 1] in ("[", "O"):
            end += 1
            while end < min(len(text), at + _LONGEST_SEQUENCE) and not "@" <= text[end] <= "~":
                end += 1
            end += 1
        keys.append(text[at:end])
        at = end
    return keys
