"""The pages about commands are those that the parsers give."""

import json
import re
from pathlib import Path

from pybroker.cli.document import COMMANDS_PAGE, DOCTOR_PAGE, SCHEMA_FILE, commands_page, write_pages
from pybroker.cli.nouns import NOUNS
from support.source_tree import ROOT


def test_pages_are_up_to_date(tmp_path: Path) -> None:
    write_pages(tmp_path)
    for name in (COMMANDS_PAGE, DOCTOR_PAGE, SCHEMA_FILE):
        written = (ROOT / "docs" / "user" / name).read_text(encoding="utf-8")
        assert (tmp_path / name).read_text(encoding="utf-8") == written, "run python -m pybroker.cli.document docs/user"


def test_each_row_of_a_table_has_two_cells() -> None:
    rows = [line for line in commands_page().splitlines() if line.startswith("| `")]
    assert "| `--scram 256\\|512` |" in "".join(rows)
    assert [line for line in rows if len(re.split(r"(?<!\\)\|", line)) != 4] == []


def test_each_row_has_a_name_of_its_own() -> None:
    rows = {row for lazy in NOUNS.values() for verb in lazy.load().verbs for row in verb.rows}
    names = [row.__name__ for row in rows]
    assert sorted(set(names)) == sorted(names)
    assert set(names) <= set(json.loads((ROOT / "docs" / "user" / SCHEMA_FILE).read_text())["components"]["schemas"])
