"""Tests that every page of the console is drawn in both themes and on narrow windows, without a problem.

The screenshots are left in `.cache/screenshots/console`, or where PYBROKER_SCREENSHOTS says.
"""

from typing import Any

import pytest
from support.console.browser import watched_page
from support.console.fake_console import FakeConsole

PAGES = {
    "overview": ("/", ".figures"),
    "topics": ("/topics", "table[aria-label=Topics] tbody tr"),
    "topic": ("/topics/orders", "table[aria-label=Partitions] tbody tr"),
    "records": ("/topics/orders/records", "table[aria-label=Records] tbody tr"),
    "record": ("/topics/orders/records?open=0-500012", ".panel .json"),
    "search": ("/topics/orders/records?query=status:failed", "table[aria-label=Records] tbody tr"),
    "topic-settings": ("/topics/orders/settings", "table.settings tbody tr"),
    "consumers": ("/topics/orders/consumers", "table tbody tr"),
    "producers": ("/topics/orders/producers", "table tbody tr"),
    "groups": ("/groups", "table[aria-label=Groups] tbody tr"),
    "group": ("/groups/billing", ".strip"),
    "brokers": ("/brokers", "table[aria-label=Brokers] tbody tr"),
    "matrix": ("/brokers/matrix", "table.matrix tbody tr"),
    "broker": ("/brokers/1", ".figures"),
    "slow": ("/requests", "table tbody tr"),
    "clients": ("/requests/clients", "table tbody tr"),
    "settings": ("/settings", "table.settings tbody tr"),
    "explain": ("/explain?principal=User:ana&operation=READ&resource_type=TOPIC&resource_name=orders", ".note"),
}
WIDE = """[...document.querySelectorAll("main *, header *")]
  .filter((each) => each.getBoundingClientRect().right > innerWidth)
  .slice(0, 3).map((each) => `${each.tagName}.${each.className}`)"""
VIEWS = {"light": (1400, "light"), "dark": (1400, "dark"), "narrow": (360, "light")}


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_is_drawn_and_fits_the_window(view: str, browser: Any, console: FakeConsole) -> None:
    width, scheme = VIEWS[view]
    too_wide = []
    with watched_page(browser, console.url, width=width, scheme=scheme) as watched:
        watched.show("/", ".figures")
        for name, (path, ready) in PAGES.items():
            watched.go(path, ready)
            watched.screenshot(f"{name}-{view}", full="record" not in path)
            if watched.page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                too_wide.append((name, watched.page.evaluate(WIDE)))
        assert watched.problems() == []
    assert too_wide == []
