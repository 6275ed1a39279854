"""docs/limits.md names settings that there are, their defaults, and tests that reach them."""

import re
from pathlib import Path

import pytest
from pybroker.config.table import BROKER_SETTINGS

ROOT = Path(__file__).parent.parent
ROW = re.compile(r"\| `([\w.]+)` \| (?:`([^`]*)`)? ?\| .* \| `(tests/[^`]+)` \|")


def rows() -> list[tuple[str, str, str]]:
    text = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    return [(row[1], row[2] or "", row[3]) for row in ROW.finditer(text)]


def test_the_page_has_a_table_of_limits() -> None:
    assert len(rows()) > 20


@pytest.mark.parametrize(("name", "default", "test"), rows(), ids=lambda value: value if "." in value else "")
def test_a_limit_exists_has_that_default_and_is_reached_by_a_test(name: str, default: str, test: str) -> None:
    assert (BROKER_SETTINGS[name].default_text(embedded_store=True) or "") == default
    path, _, function = test.partition("::")
    assert (ROOT / path).exists()
    if function:
        assert f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")
