"""Tests that texts of strangers do nothing in the console's pages but stand there as text.

Two hundred hostile texts serve as topics, groups, client ids, hosts, keys, values, headers, settings and log lines.
Nothing may open a dialog, request another place, break a page, or make the browser report a violation of the policy.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from support.console.browser import WatchedPage, watched_page
from support.console.fake_cluster import FakeCluster
from support.console.fake_console import FakeConsole
from support.console.hostile_texts import HOSTILE

NAMED = [text for text in HOSTILE if text not in ("", ".", "..")]
PATHS = (
    "/",
    "/topics",
    "/topics/orders",
    "/topics/orders/settings",
    "/topics/orders/consumers",
    "/topics/orders/producers",
    "/groups",
    "/brokers",
    "/brokers/matrix",
    "/brokers/1",
    "/requests",
    "/requests/clients",
    "/settings",
)


@pytest.fixture(scope="module")
def open_page(browser: Any, module_console: FakeConsole) -> Iterator[WatchedPage]:
    topics = ["orders", *HOSTILE]
    module_console.cluster = FakeCluster(topics=topics, groups=HOSTILE, texts=HOSTILE, writes=True)
    with watched_page(browser, module_console.url) as page:
        page.show("/", ".figures")
        yield page


@pytest.fixture
def watched(open_page: WatchedPage) -> Iterator[WatchedPage]:
    yield open_page
    assert open_page.problems() == []
    assert open_page.page.evaluate("({}).polluted") is None
    strange = "script:not([src^='/static/']), iframe, object, embed, base, img, style, link:not([href^='/static/'])"
    assert open_page.page.locator(strange).count() == 0


def view_failed(watched: WatchedPage) -> bool:
    return watched.page.get_by_text("This view failed.").count() > 0


def test_views_show_hostile_texts_as_text(watched: WatchedPage) -> None:
    for path in PATHS:
        watched.go(path, "main table tbody tr, .figures")
        # Everything that only a hover or a focus would run.
        watched.page.evaluate(
            """() => document.querySelectorAll('main *').forEach((each) => {
              each.dispatchEvent(new MouseEvent('mouseover', {bubbles: true})); each.focus?.(); })"""
        )
        assert not view_failed(watched), path


def test_list_of_groups_holds_each_hostile_name_as_it_is(watched: WatchedPage) -> None:
    watched.go("/groups?sort=group", "table[aria-label=Groups] tbody tr")
    seen: set[str] = set()
    while True:
        rows = "[...document.querySelectorAll('td:first-child .name')].map((each) => each.textContent)"
        found = set(watched.page.evaluate(rows))
        if found <= seen:
            break
        seen |= found
        watched.page.evaluate("scrollBy(0, 500)")
        watched.page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
    assert seen == {text or "(empty name)" for text in HOSTILE}


def test_addresses_of_hostile_names_lead_back_to_the_names(watched: WatchedPage) -> None:
    texts = [text for text in NAMED if text.isprintable() or max(text) < "\ud800"]
    wrong = watched.page.evaluate(
        """async (texts) => {
          const { to } = await import('/static/js/router.js');
          return texts.filter((text) => {
            const address = new URL(to(['groups', text]), location.origin);
            const parts = address.pathname.split('/');
            return address.origin !== location.origin || parts.length !== 3 || decodeURIComponent(parts[2]) !== text;
          });
        }""",
        texts,
    )
    assert len(texts) > 150
    assert wrong == []


@pytest.mark.parametrize(
    "name", ["a/b", "a?b=c", "%2e%2e", "__proto__", "//evil.example/", HOSTILE[2], "javascript:alert(1)"]
)
def test_page_of_a_group_with_a_hostile_name_opens(name: str, watched: WatchedPage) -> None:
    watched.go("/groups?sort=group&filter=" + "".join(f"%{byte:02x}" for byte in name.encode()), "main table tbody tr")
    watched.page.get_by_role("link", name=name, exact=True).first.click()
    watched.page.locator("table[aria-label=Members] tbody tr").first.wait_for()
    assert watched.page.locator("h1").text_content() == name
    assert not view_failed(watched)


def open_records(watched: WatchedPage, offsets: range) -> None:
    watched.go("/topics/orders/records", "table[aria-label=Records] tbody tr:nth-child(20)")
    for number in offsets:
        watched.page.evaluate(
            "path => { history.replaceState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }",
            f"/topics/orders/records?open=0-{number}",
        )
        watched.page.locator(f"aside[aria-label='Record 0-{number}'] .facts").wait_for()
        assert not view_failed(watched), HOSTILE[number]


def test_records_show_hostile_keys_values_and_headers_as_text(watched: WatchedPage) -> None:
    """Each text is a key, a value, the name or the value of a header."""
    watched.go("/topics/orders/records?query=alert", "table[aria-label=Records] tbody tr")
    open_records(watched, range(0, len(HOSTILE), 4))


@pytest.mark.long
def test_records_show_each_hostile_text_as_key_value_and_header(watched: WatchedPage) -> None:
    open_records(watched, range(len(HOSTILE)))
