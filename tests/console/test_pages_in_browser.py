"""Tests that every page of the console is drawn in both themes and on narrow windows, without a problem.

All pages are visited once, and looked at in each view. With PYBROKER_SCREENSHOTS=FOLDER the screenshots are left there.
"""

from collections import defaultdict
from typing import Any

import pytest
from support.console.browser import WatchedPage, watched_page
from support.console.fake_cluster import FakeCluster
from support.console.fake_console import FakeConsole
from support.console.views import PAGES
from support.console.web_tools import AXE, fetched

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
RULES = """async (rules) => {
  const found = await axe.run(document, { resultTypes: ['violations'], ...(rules ? { runOnly: rules } : {}) });
  return found.violations.filter((each) => ['serious', 'critical'].includes(each.impact))
    .map((each) => `${each.id}: ${each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' | ')}`);
}"""
COLOURS = ["color-contrast"]
"""The rules of axe-core that depend on the theme."""
VIEWS = {"light": (1280, "light"), "dark": (1280, "dark"), "narrow": (360, "light")}

Findings = dict[str, list[str]]


class Walk:
    """The findings on the pages, by view and page."""

    def __init__(self) -> None:
        self.layout: dict[str, Findings] = defaultdict(dict)
        self.axe: dict[str, Findings] = defaultdict(dict)
        self.problems: list[str] = []

    def visit(self, watched: WatchedPage, name: str, path: str, ready: str) -> None:
        watched.go(path, ready)
        for view, (width, scheme) in VIEWS.items():
            watched.look(width, scheme)
            watched.screenshot(f"{name}-{view}", full="record" not in path)
            if wrong := watched.page.evaluate(LAYOUT):
                self.layout[view][name] = wrong
            rules = {"light": None, "dark": COLOURS}.get(view, [])
            if rules != [] and (wrong := watched.page.evaluate(RULES, rules)):
                self.axe[view][name] = wrong
        watched.look(*VIEWS["light"])


@pytest.fixture(scope="module")
def walk(browser: Any, module_console: FakeConsole) -> Walk:
    module_console.cluster = FakeCluster(writes=True)
    walk = Walk()
    with watched_page(browser, module_console.url) as watched:
        watched.show("/", ".figures")
        watched.page.evaluate(fetched(AXE).read_text())
        for name, (path, ready) in PAGES.items():
            walk.visit(watched, name, path, ready)
        walk.problems = watched.problems()
    return walk


def test_every_page_is_drawn_without_a_problem(walk: Walk) -> None:
    assert walk.problems == []


@pytest.mark.parametrize("view", VIEWS)
def test_every_page_fits_the_window(view: str, walk: Walk) -> None:
    assert walk.layout.get(view, {}) == {}


@pytest.mark.parametrize("view", ["light", "dark"])
def test_axe_finds_nothing_serious(view: str, walk: Walk) -> None:
    assert walk.axe.get(view, {}) == {}


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
