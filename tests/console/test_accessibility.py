"""Tests that axe-core finds nothing serious on the console's pages."""

from typing import Any

import pytest
from support.console.browser import watched_page
from support.console.fake_cluster import FakeCluster
from support.console.fake_console import FakeConsole
from support.console.views import PAGES
from support.console.web_tools import AXE, fetched

FINDINGS = """async () => {
  const found = await axe.run(document, { resultTypes: ['violations'] });
  return found.violations.filter((each) => ['serious', 'critical'].includes(each.impact))
    .map((each) => `${each.id}: ${each.nodes.slice(0, 3).map((node) => node.html.slice(0, 200)).join(' | ')}`);
}"""


@pytest.fixture(scope="module")
def axe() -> str:
    return fetched(AXE).read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(scheme: str, axe: str, browser: Any, console: FakeConsole) -> None:
    console.cluster = FakeCluster(writes=True)
    found = {}
    with watched_page(browser, console.url, scheme=scheme) as watched:
        watched.show("/", ".figures")
        watched.page.evaluate(axe)
        for name, (path, ready) in PAGES.items():
            watched.go(path, ready)
            if problems := watched.page.evaluate(FINDINGS):
                found[name] = problems
    assert found == {}
