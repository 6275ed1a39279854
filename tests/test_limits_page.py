"""Checks that the settings, defaults and tests named in docs/operator/limits.md exist."""

import re
from pathlib import Path

import pytest
from pybroker.config.table import BROKER_SETTINGS

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"\| `([\w.]+)` \| (?:`([^`]*)`)? ?\| .* \| `(tests/[^`]+\.py)::(\w+)` \|")


def lines() -> list[str]:
    """The rows of the table of limits, as text."""
    text = (ROOT / "docs" / "operator" / "limits.md").read_text(encoding="utf-8")
    table = text.partition("## Bounds")[2].partition("Not settings, ")[0]
    return [line for line in table.splitlines() if line.startswith("| `")]


def rows() -> list[tuple[str, str, str, str]]:
    return [(row[1], row[2] or "", row[3], row[4]) for line in lines() if (row := ROW.fullmatch(line))]


def test_each_limit_names_its_default_and_the_one_test_that_reaches_it() -> None:
    assert len(lines()) > 20
    assert [line for line in lines() if not ROW.fullmatch(line)] == []


@pytest.mark.parametrize(("name", "default", "path", "test"), rows(), ids=lambda value: value if "." in value else "")
def test_a_limit_exists_has_that_default_and_is_reached_by_a_test(
    name: str, default: str, path: str, test: str
) -> None:
    assert (BROKER_SETTINGS[name].default_text(embedded_store=True) or "") == default
    text = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^ *(async )?def {test}\(", text, re.MULTILINE)
