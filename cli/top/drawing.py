"""Draws the screen of ``pybroker top``: lines of text that fit a terminal. Pure.

A line may begin with a mark that says that it is shown in reverse; it has no other control characters, whatever the
names in the cluster are.
"""

import time
from collections.abc import Sequence
from typing import NamedTuple

from ...base.printable import printable
from ..output.columns import as_text, bytes_text, counted
from ..output.width import width_of, width_of_character
from .keys import KEYS_HELP, ScreenState
from .sections import SECTIONS, Section, rate_text
from .shapes import TopView

__all__ = ["DrawnLine", "drawn", "fitted"]

_GAP = "  "
_LEAST_NAME = 8
_LEAST_ROWS = 1
_CUT = "…"


class DrawnLine(NamedTuple):
    """A line of the screen. ``is_title``: it is shown in reverse."""

    text: str
    is_title: bool = False


def drawn(view: TopView | None, state: ScreenState, size: tuple[int, int], trouble: str | None) -> list[DrawnLine]:
    """The lines for a terminal of (columns, lines). ``trouble``: why the last look failed."""
    columns, height = size
    lines = [DrawnLine(_head(view, state)), DrawnLine(_totals(view, trouble))]
    room = max(0, height - len(lines) - 1)
    if view is not None:
        lines += _tables(view, state, columns, room)
    lines = lines[: max(0, height - 1)]
    lines += [DrawnLine("")] * (height - 1 - len(lines))
    lines.append(DrawnLine(f"filter: {state.filter}_" if state.is_typing else KEYS_HELP))
    return [DrawnLine(fitted(printable(line.text), columns), line.is_title) for line in lines[:height]]


def fitted(text: str, width: int, *, is_right: bool = False) -> str:
    """A printable text that takes exactly ``width`` columns of a terminal; a longer one is cut."""
    used = 0
    for at, character in enumerate(text):
        taken = width_of_character(character)
        if used + taken > width:
            text, used = _cut(text[:at], width)
            break
        used += taken
    padding = " " * (width - used)
    return padding + text if is_right else text + padding


def _cut(text: str, width: int) -> tuple[str, int]:
    """The text with a mark in place of its end, and how many columns it takes."""
    used = width_of(text)
    while text and used > width - 1:
        used -= width_of_character(text[-1])
        text = text[:-1]
    return (text + _CUT, used + 1) if width > 0 else ("", 0)


def _head(view: TopView | None, state: ScreenState) -> str:
    if view is None:
        return "pybroker top  the first look is under way"
    clock = time.strftime("%H:%M:%S", time.localtime(view.time_ms / 1000))
    parts = ((len(view.brokers), "broker"), (len(view.topics), "topic"), (len(view.groups), "group"))
    counts = ", ".join(counted(count, noun) for count, noun in parts)
    marks = "  PAUSED" if state.is_paused else ""
    marks += f"  filter: {state.filter}" if state.filter else ""
    return f"pybroker top  {clock}{marks}  {counts}  (source: {view.source})"


def _totals(view: TopView | None, trouble: str | None) -> str:
    if trouble is not None:
        return f"the last look failed: {trouble}"
    if view is None:
        return ""
    if view.problems:
        return f"not told: {view.problems[0]}"
    records = [each.records_per_s for each in view.brokers if each.records_per_s is not None]
    sizes = [each.bytes_in_per_s for each in view.brokers if each.bytes_in_per_s is not None]
    lag = sum(each.lag or 0 for each in view.groups)
    written = f"{rate_text(sum(records))} records/s written" if records else "rates come with the next look"
    amount = f", {bytes_text(round(sum(sizes)))}/s" if sizes else ""
    return f"{written}{amount}; lag of all groups {lag:,}"


def _tables(view: TopView, state: ScreenState, columns: int, room: int) -> list[DrawnLine]:
    if state.section >= 0:
        return _table(view, state, state.section, columns, room, state.first)
    lines: list[DrawnLine] = []
    for number, section in enumerate(SECTIONS):
        left = room - len(lines)
        later = len(SECTIONS) - number - 1
        share = left if not later else min(2 + len(section.rows(view)), left // (later + 1))
        lines += _table(view, state, number, columns, share, 0)
        if later:
            lines.append(DrawnLine(""))
    return lines[:room]


def _table(view: TopView, state: ScreenState, number: int, columns: int, room: int, first: int) -> list[DrawnLine]:
    """The titles, and as many rows as there is room for."""
    section, sort = SECTIONS[number], state.sorts[number]
    is_reversed = state.is_reversed and number == state.sorted_section
    rows = section.chosen(view, state.filter, sort, is_reversed=is_reversed)
    first = min(first, max(0, len(rows) - _LEAST_ROWS))
    titles = [f"{'>' if at == sort else ''}{each.title}" for at, each in enumerate(section.columns)]
    lines = [DrawnLine(_line(section, titles, columns), is_title=True)]
    lines += [
        DrawnLine(_line(section, [as_text(each.value(row)) for each in section.columns], columns))
        for row in rows[first : first + max(0, room - 1)]
    ]
    return lines


def _line(section: Section, texts: Sequence[str], columns: int) -> str:
    """A row whose first column takes what the others leave."""
    rest = columns - sum(section.widths) - len(_GAP) * len(section.widths)
    cells = [fitted(texts[0], max(rest, _LEAST_NAME))]
    cells += [fitted(text, width, is_right=True) for text, width in zip(texts[1:], section.widths, strict=True)]
    return _GAP.join(cells)
