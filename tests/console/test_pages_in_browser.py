"""Tests that every page of the console is drawn in both themes and on narrow windows, without a problem.

The screenshots are left in `.cache/screenshots/console`, or where PYBROKER_SCREENSHOTS says.
"""

from typing import Any

import pytest
from support.console.browser import watched_page
from support.console.fake_console import FakeConsole
from support.console.views import PAGES

LAYOUT = """() => {
  const text = (each) => `${each.tagName}.${each.className} ${each.textContent.slice(0, 30)}`;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const scrolls = (each) => each.closest('.points, pre, .search ul');
  const beyond = document.documentElement.scrollWidth <= innerWidth ? []
    : all('main *, header *').filter((each) => each.getBoundingClientRect().right > innerWidth && !scrolls(each));
  const cut = all('main .table > table').filter((each) => each.offsetWidth > each.parentElement.clientWidth + 1);
  const tiny = all('main .table th').filter((each) => each.offsetWidth > 0 && each.offsetWidth < 40);
  return [...beyond.slice(0, 3), ...cut, ...tiny].map(text);
}"""
"""Faults of the layout: elements beyond the window, tables that are cut off, columns that are too narrow."""
VIEWS = {"light": (1400, "light"), "dark": (1400, "dark"), "narrow": (360, "light")}


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_is_drawn_and_fits_the_window(view: str, browser: Any, console: FakeConsole) -> None:
    width, scheme = VIEWS[view]
    misplaced = {}
    with watched_page(browser, console.url, width=width, scheme=scheme) as watched:
        watched.show("/", ".figures")
        for name, (path, ready) in PAGES.items():
            watched.go(path, ready)
            watched.screenshot(f"{name}-{view}", full="record" not in path)
            if wrong := watched.page.evaluate(LAYOUT):
                misplaced[name] = wrong
        assert watched.problems() == []
    assert misplaced == {}


def test_views_of_plain_kafka_brokers_show_a_dash_for_what_is_not_known(browser: Any, console: FakeConsole) -> None:
    console.cluster.is_plain_kafka = True
    with watched_page(browser, console.url) as watched:
        watched.show("/", ".figures")
        for name, (path, _) in PAGES.items():
            watched.go(path, "main h1")
            watched.page.locator(".waiting", has_text="Loading").first.wait_for(state="detached")
            if name in ("overview", "topic", "group"):
                watched.screenshot(f"{name}-plain")
            shown = watched.page.locator("main").text_content() or ""
            assert not [word for word in ("NaN", "undefined", "null", "[object") if word in shown], (name, shown[:2000])
        assert watched.problems() == []
