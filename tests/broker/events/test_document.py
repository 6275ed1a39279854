"""The page of events is the one that the table makes."""

from pathlib import Path

from pybroker.broker.events.document import EVENTS_PAGE, events_page
from pybroker.broker.events.table import EVENTS

PAGE = Path(__file__).parents[3] / "docs" / "operator" / EVENTS_PAGE
RENEW = "run: python -m pybroker.broker.events.document docs/operator"


def test_page_of_events_equals_the_page_generated_from_the_table() -> None:
    assert PAGE.read_text(encoding="utf-8") == events_page(), RENEW


def test_page_of_events_has_a_row_for_each_event_with_its_meaning_and_remedy() -> None:
    rows = {line.split("`")[1]: line for line in events_page().splitlines() if line.startswith("| `")}
    assert set(rows) == set(EVENTS)
    assert [name for name, row in rows.items() if EVENTS[name].meaning not in row] == []
    assert [name for name, row in rows.items() if EVENTS[name].remedy not in row] == []
