"""Prints what a command found, in the form that ``-o`` asks for.

Tables and texts are for people. ``json`` prints one array, ``jsonl`` one row a line, ``name`` the names only. JSON has
all fields of the rows, whatever a table shows, and is ASCII.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TextIO

from ...base.printable import printable
from ...base.progress_line import ProgressLine
from ...views.json_text import to_json
from .columns import Column
from .table import table

__all__ = ["FORMS", "Output"]

FORMS = ("table", "wide", "json", "jsonl", "name")


class Output:
    """Data goes to ``stdout``, words to ``stderr`` unless ``is_quiet``."""

    def __init__(self, form: str, stdout: TextIO, stderr: TextIO, *, is_quiet: bool = False) -> None:
        self.form = form
        self._stdout = stdout
        self._stderr = stderr
        self._is_quiet = is_quiet
        self._progress: ProgressLine | None = None

    @property
    def is_for_people(self) -> bool:
        """Whether a table or text is wanted."""
        return self.form in ("table", "wide")

    def shown(self, columns: Sequence[Column]) -> list[Column]:
        """The columns that the form shows."""
        return [column for column in columns if self.form == "wide" or not column.is_wide]

    def rows(self, rows: Sequence[Any], columns: Sequence[Column], name: Callable[[Any], str]) -> None:
        """Print rows, which are views. ``name``: the text that ``-o name`` prints for a row."""
        if self.is_for_people:
            self._write_lines(table(rows, self.shown(columns)) if rows else ())
        else:
            self._write_data(rows, name)

    def lines(self, rows: Sequence[Any], line: Callable[[Any], str], name: Callable[[Any], str]) -> None:
        """Print rows, which are views, for people as a line each without titles."""
        if self.is_for_people:
            self._write_lines(line(row) for row in rows)
        else:
            self._write_data(rows, name)

    def documents(
        self, views: Sequence[Any], lines: Callable[[Any], Iterable[str]], name: Callable[[Any], str]
    ) -> None:
        """Print views one after another. ``lines``: the text for people of a view."""
        if not self.is_for_people:
            self._write_data(views, name)
            return
        for number, view in enumerate(views):
            self._write_lines(["", *lines(view)] if number else lines(view))

    def say(self, text: str) -> None:
        """Print words for people on standard error."""
        if not self._is_quiet:
            self._clear_progress()
            self._stderr.write(f"{printable(text)}\n")

    def progress(self, words: Callable[[float], str], share: Callable[[], float | None] = lambda: None) -> ProgressLine:
        """A line on standard error about long work; nothing is drawn without a terminal, or when words are unwanted."""
        self._progress = ProgressLine(None if self._is_quiet else self._stderr, words, share)
        return self._progress

    def fail(self, text: str) -> None:
        """Print on standard error why a part of the work failed."""
        self._clear_progress()
        self._stderr.write(f"pybroker: {printable(text)}\n")

    def _clear_progress(self) -> None:
        if self._progress is not None:
            self._progress.clear()

    def _write_data(self, views: Sequence[Any], name: Callable[[Any], str]) -> None:
        if self.form == "json":
            self._write_lines(json.dumps(json.loads(to_json(views)), indent=2).splitlines())
        elif self.form == "jsonl":
            self._write_lines(to_json(view).decode() for view in views)
        else:
            self._write_lines(name(view) for view in views)

    def _write_lines(self, lines: Iterable[str]) -> None:
        """Here all characters of clusters are made printable, so that no verb can forget it."""
        self._stdout.write("".join(f"{printable(line)}\n" for line in lines))
