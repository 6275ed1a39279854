"""Tests of the forms in which commands print what they found."""

import io
import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.cli.output.columns import Column, as_text, bytes_text, duration_text
from pybroker.cli.output.output import Output


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    name: str
    count: int | None


COLUMNS = (
    Column("NAME", lambda row: row.name),
    Column("COUNT", lambda row: row.count),
    Column("TWICE", lambda row: None if row.count is None else 2 * row.count, is_wide=True),
)
ROWS = (Row(name="a", count=5), Row(name="longer", count=None), Row(name="c", count=12_345))


def printed(form: str, rows: tuple[Row, ...] = ROWS) -> str:
    stdout = io.StringIO()
    Output(form, stdout, io.StringIO()).rows(rows, COLUMNS, name=lambda row: row.name)
    return stdout.getvalue()


def test_table_aligns_texts_on_the_left_and_numbers_on_the_right() -> None:
    assert printed("table") == "NAME     COUNT\na            5\nlonger       -\nc       12,345\n"


def test_wide_table_has_more_columns() -> None:
    assert printed("wide").splitlines()[0] == "NAME     COUNT   TWICE"


def test_table_without_rows_prints_no_titles() -> None:
    assert printed("table", ()) == ""


def test_json_is_an_array_of_all_fields() -> None:
    assert json.loads(printed("json")) == [{"name": row.name, "count": row.count} for row in ROWS]


def test_jsonl_is_one_row_a_line() -> None:
    assert [json.loads(line)["name"] for line in printed("jsonl").splitlines()] == ["a", "longer", "c"]


def test_name_prints_names_only() -> None:
    assert printed("name") == "a\nlonger\nc\n"


@given(st.text())
@pytest.mark.parametrize("form", ["table", "wide", "json", "jsonl", "name"])
def test_no_form_prints_a_control_character_of_a_name(form: str, name: str) -> None:
    text = printed(form, (Row(name=name, count=1),))
    assert all(line.isprintable() for line in text.split("\n"))


def test_quiet_output_says_nothing_but_failures() -> None:
    stderr = io.StringIO()
    output = Output("table", io.StringIO(), stderr, is_quiet=True)
    output.say("a word")
    output.fail("it failed\x1b[2J")
    assert stderr.getvalue() == "pybroker: it failed\\x1b[2J\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, "-"), ((), "-"), (True, "yes"), (False, "no"), (1234, "1,234"), (1.25, "1.2"), ((1, 2), "1,2"), ("x", "x")],
)
def test_values_as_text(value: object, text: str) -> None:
    assert as_text(value) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (None, None),
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.0 KiB"),
        (44_238_530_150, "41.2 GiB"),
        (1 << 52, "4096.0 TiB"),
    ],
)
def test_sizes_have_the_largest_unit_that_fits(size: int | None, text: str | None) -> None:
    assert bytes_text(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (None, None),
        (0.25, "0.2 s"),
        (59.4, "59 s"),
        (252, "4 m 12 s"),
        (3600, "1 h"),
        (90_061, "1 d 1 h"),
    ],
)
def test_durations_have_two_units(seconds: float | None, text: str | None) -> None:
    assert duration_text(seconds) == text


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_drawn_on_a_terminal_and_erased_before_words() -> None:
    terminal = Terminal()
    output = Output("table", io.StringIO(), terminal)
    output.progress(lambda _: "5 of 10", lambda: 0.5).tick()
    output.say("words")
    assert terminal.getvalue() == f"\r[{'#' * 15}{'.' * 15}]  50% 5 of 10\x1b[K\r\x1b[Kwords\n"


@pytest.mark.parametrize(("share", "shown"), [(-1.0, "  0% "), (7.0, "100% "), (None, "\rx\x1b[K\n")])
def test_progress_stays_within_its_bar(share: float | None, shown: str) -> None:
    terminal = Terminal()
    Output("table", io.StringIO(), terminal).progress(lambda _: "x", lambda: share).end()
    assert shown in terminal.getvalue()


def test_no_progress_is_drawn_into_files_or_when_words_are_unwanted() -> None:
    file, terminal = io.StringIO(), Terminal()
    for stream, is_quiet in ((file, False), (terminal, True)):
        progress = Output("table", io.StringIO(), stream, is_quiet=is_quiet).progress(lambda _: "x")
        progress.tick()
        progress.clear()
        progress.end()
    assert file.getvalue() == terminal.getvalue() == ""
