"""Lines of an explanation for people: a label, and a text on as many lines as it needs."""

import shutil
from collections.abc import Iterable, Iterator
from textwrap import wrap

from ...base.printable import printable
from .shapes import Finding

__all__ = ["finding_lines", "labelled", "text_width"]

_WIDTH = 120
"""Characters of a line where there is no terminal."""
_LEAST_WIDTH = 40


def text_width() -> int:
    """The characters of a line."""
    return max(shutil.get_terminal_size((_WIDTH, 0)).columns, _LEAST_WIDTH)


def labelled(label: str, text: str, width: int) -> list[str]:
    """The lines of a text behind its label."""
    return wrap(
        printable(text),
        width,
        initial_indent=f"  {label:<8} ",
        subsequent_indent=" " * 11,
        break_long_words=False,
        break_on_hyphens=False,
    )


def finding_lines(findings: Iterable[Finding], width: int) -> Iterator[str]:
    """Yields the lines of each finding, with its culprit and what to try."""
    for finding in findings:
        yield from labelled("why" if finding.is_trouble else "note", finding.text, width)
        if finding.culprit is not None:
            yield from labelled("culprit", finding.culprit, width)
        for remedy in finding.remedies:
            yield from labelled("try", remedy, width)
