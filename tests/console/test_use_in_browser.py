"""Tests that people can use the console's pages: keys, filters, records."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from support.console.browser import WatchedPage, watched_page
from support.console.fake_cluster import FakeCluster
from support.console.fake_console import FakeConsole


@pytest.fixture(scope="module")
def open_page(browser: Any, module_console: FakeConsole) -> Iterator[WatchedPage]:
    module_console.cluster = FakeCluster(writes=True)
    with watched_page(browser, module_console.url) as page:
        page.show("/explain", "main form")
        yield page


@pytest.fixture
def watched(open_page: WatchedPage, console: FakeConsole) -> Iterator[WatchedPage]:
    """The page of the module, moved to a view that keeps nothing from the test before."""
    console.cluster = FakeCluster(writes=True)
    open_page.page.keyboard.press("Escape")
    open_page.go("/explain", "main form")
    yield open_page
    assert open_page.problems() == []


def path_of(watched: WatchedPage) -> str:
    return watched.page.url.removeprefix(watched.url)


def names(watched: WatchedPage) -> list[str]:
    return [text or "" for text in watched.page.locator("main td:first-child .name").all_text_contents()]


def test_keys_move_between_pages_rows_and_fields(watched: WatchedPage) -> None:
    keyboard = watched.page.keyboard
    keyboard.press("g")
    keyboard.press("t")
    watched.page.locator("table[aria-label=Topics]").wait_for()
    assert path_of(watched) == "/topics"
    for key in ("j", "j", "j", "k"):
        keyboard.press(key)
    chosen = watched.page.locator("tr.chosen .name")
    assert chosen.text_content() == names(watched)[1]
    keyboard.press("/")
    keyboard.type("pay")
    keyboard.press("Escape")
    watched.page.wait_for_function("document.querySelectorAll('main tbody tr').length === 1")
    assert names(watched) == ["payments"]
    keyboard.press("j")
    keyboard.press("Enter")
    watched.page.locator("table[aria-label=Partitions]").wait_for()
    assert path_of(watched) == "/topics/payments"
    keyboard.press("?")
    watched.page.get_by_role("dialog", name="Keys").wait_for()
    keyboard.press("Escape")
    watched.page.get_by_role("dialog").wait_for(state="detached")
    watched.page.go_back()
    watched.page.wait_for_function("document.querySelector('input.filter')?.value === 'pay'")


def test_search_box_finds_topics_groups_and_brokers(watched: WatchedPage) -> None:
    watched.page.keyboard.press("/")
    watched.page.keyboard.type("bill")
    watched.page.get_by_role("option", name="billing group").wait_for()
    watched.page.keyboard.press("Enter")
    watched.page.locator("table[aria-label=Members]").wait_for()
    assert path_of(watched) == "/groups/billing"


def test_tab_reaches_every_control_of_the_page_and_shows_the_focus(watched: WatchedPage) -> None:
    watched.go("/topics?filter=pay", "table[aria-label=Topics]")
    wanted = watched.page.locator("a[href], button, input, select").count()
    reached = set()
    for _ in range(wanted):
        watched.page.keyboard.press("Tab")
        reached.add(watched.page.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
        width = watched.page.evaluate("parseFloat(getComputedStyle(document.activeElement).outlineWidth)")
        assert width >= 1
    assert len(reached) == wanted


def test_lists_are_sorted_by_a_click_and_the_address_keeps_the_order(watched: WatchedPage) -> None:
    watched.go("/topics", "table[aria-label=Topics]")
    watched.page.get_by_role("button", name="size").click()
    assert "sort=-size" in path_of(watched)
    sizes = [topic["size_bytes"] for topic in FakeCluster().topic_list()["items"]]
    largest = FakeCluster().topics[sizes.index(max(sizes))]
    watched.page.wait_for_function("document.querySelector('th[aria-sort]')?.textContent.includes('size')")
    assert names(watched)[0] == largest


def test_filter_of_the_list_knows_states_and_sizes(watched: WatchedPage) -> None:
    watched.go("/topics?filter=is:under-replicated size>100GiB", "table[aria-label=Topics]")
    expected = sorted(
        row["topic"]
        for row in FakeCluster().topic_list()["items"]
        if row["under_replicated_partitions"] and row["size_bytes"] > 100 << 30
    )
    assert names(watched) == expected
    assert expected


def test_record_keeps_the_digits_of_its_numbers_and_shows_hex(watched: WatchedPage) -> None:
    watched.go("/topics/orders/records?open=0-500012", ".panel .json")
    tree = watched.page.locator(".panel .json").text_content() or ""
    assert "12345678901234567890" in tree
    assert "19.90" in tree
    watched.page.locator(".panel").get_by_role("button", name="hex").nth(1).click()
    assert (watched.page.locator(".panel pre[aria-label=Value]").text_content() or "").startswith(
        "00000000  7b 22 69 64"
    )
    watched.page.keyboard.press("Escape")
    watched.page.locator(".panel").wait_for(state="detached")
    assert "open" not in path_of(watched)


def test_value_of_bytes_that_are_no_text_is_shown_as_hex(watched: WatchedPage) -> None:
    watched.go("/topics/orders/records?open=0-500013", ".panel pre[aria-label=Value]")
    assert "00 01 fe ff" in (watched.page.locator(".panel pre[aria-label=Value]").text_content() or "")


def test_filter_of_records_is_checked_while_it_is_typed_and_searches(watched: WatchedPage) -> None:
    watched.go("/topics/orders/records", "table[aria-label=Records]")
    field = watched.page.get_by_label("Filter records")
    field.fill("status:failed (a")
    watched.page.get_by_text("a parenthesis is open (at character 15)").wait_for()
    field.fill("status:failed")
    watched.page.get_by_text("the record holds status:failed").wait_for()
    field.press("Enter")
    watched.page.get_by_text("searched 3.1 M of 8 M, 3 hits, 1.2 s · stopped: 10 s are over").wait_for()
    assert watched.page.locator("mark").first.text_content() == "failed"
    watched.page.get_by_role("button", name="search on").click()
    watched.page.wait_for_url("**from=at*")


def test_live_tail_holds_new_records_back_while_it_is_paused(watched: WatchedPage) -> None:
    watched.go("/topics/orders/records", "table[aria-label=Records]")
    first = watched.page.locator("table[aria-label=Records] tbody tr:first-child td:nth-child(2)")
    watched.page.get_by_role("button", name="Live").click()
    watched.page.get_by_text("live ·").wait_for()
    watched.page.get_by_role("button", name="Pause").click()
    held = watched.page.get_by_text(re.compile(r"[3-9] new records held back"))
    held.wait_for()
    shown = int((first.text_content() or "").replace(",", ""))
    held.wait_for()
    assert int((first.text_content() or "").replace(",", "")) == shown
    watched.page.get_by_role("button", name="Go on").click()
    watched.page.wait_for_function(
        """shown => Number(document.querySelector('table[aria-label=Records] tbody tr td:nth-child(2)')
          .textContent.replace(',', '')) > shown + 3""",
        arg=shown,
    )
    watched.page.get_by_role("button", name="Stop").click()
    watched.page.get_by_role("button", name="Live").wait_for()


def test_records_are_read_from_a_time_of_the_readers_zone(watched: WatchedPage) -> None:
    watched.go("/topics/orders/records?from=time:2026-11-25T08:00", "table[aria-label=Records]")
    field = watched.page.get_by_label("Time", exact=True)
    assert field.input_value() == "2026-11-25T08:00"
    field.fill("2026-11-25T09:30:15")
    field.press("Tab")
    watched.page.wait_for_url(re.compile("from=time%3A1795599015000"))


def test_chart_can_be_read_as_a_table(watched: WatchedPage) -> None:
    watched.go("/groups/billing", ".plot canvas")
    watched.page.get_by_role("button", name="Show Lag in records as a table").click()
    cells = watched.page.locator(".points tbody tr:first-child td").all_text_contents()
    assert cells[1] == "401 K"


class OneProblem(FakeCluster):
    def cluster(self) -> Any:
        view = super().cluster()
        problem = view["verdict"]["problems"][0]
        return {**view, "verdict": {**view["verdict"], "text": problem["text"], "problems": [problem]}}


def test_trouble_is_told_once_in_one_sentence(watched: WatchedPage, console: FakeConsole) -> None:
    console.cluster = cluster = OneProblem(writes=True)
    watched.go("/groups", "table")
    watched.page.reload()
    watched.go("/", "main .note")
    problem = cluster.cluster()["verdict"]["problems"][0]["text"]
    assert (watched.page.locator("main .note").text_content() or "").split() == [*problem.split(), "look", "→"]
    number = next(n for n, name in enumerate(cluster.groups) if cluster.group(name)["group"]["verdict"] == "rewound")
    watched.go(f"/groups/{cluster.groups[number]}", "main .note")
    said = (watched.page.locator("main .note").text_content() or "").strip()
    assert said == f"The group falls behind (orders-{number} and 5 more)."


def test_reason_of_a_rebalance_can_be_read_whole_on_a_narrow_window(watched: WatchedPage, console: FakeConsole) -> None:
    watched.go("/groups/billing", "table[aria-label=Timeline] tbody tr")
    watched.look(360, "light")
    reason = watched.page.locator("table[aria-label=Timeline] tbody tr:first-child td:has(.whole)")
    assert reason.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")
    watched.go("/topics/orders", "nav.tabs a")
    assert watched.page.locator("nav.tabs").evaluate("(tabs) => tabs.scrollWidth <= tabs.clientWidth")
    watched.look(1280, "light")


def lane_of(watched: WatchedPage, client: str, kind: str) -> list[tuple[float, float]]:
    """The bars of a client's lane in percent of the width."""
    bars = watched.page.locator(f".lane[aria-label^='{client}: '] .{kind}")
    found = bars.evaluate_all("(all) => all.map((each) => [each.x.baseVal.value / 10, each.width.baseVal.value / 10])")
    return [(start, start + width) for start, width in found]


class OneRestart(FakeCluster):
    """A member whose session ended half an hour ago, and for which the group waited until it came back."""

    def timeline(self, name: str) -> Any:
        events = super().timeline(name)["events"][1:4]
        member, now = self.member(self.groups.index(name), 0), events[0]["time_ms"] + 440_000
        rebalance = {"kind": "rebalance", "duration_ms": 600_000, "waited_for": None, "waited_ms": None, "times": 1}
        told = [(10, "member_joined"), (30, "session_expired"), (40, "member_rejoined")]
        return {
            "group": name,
            "events": [
                {**events[0], **member, **rebalance, "reason": reason, "time_ms": now - minutes * 60_000}
                for minutes, reason in told
            ],
        }


def test_bar_of_a_member_shows_when_it_was_there_and_when_the_group_waited(
    watched: WatchedPage, console: FakeConsole
) -> None:
    console.cluster = OneRestart(writes=True)
    watched.go("/groups/billing", ".lane")
    watched.page.reload()
    watched.page.locator(".lane").first.wait_for()
    (gone_at, back_at), (again, now) = ((round(a), round(b)) for a, b in lane_of(watched, "billing-api-0", "there"))
    assert (gone_at, back_at, again, now) == (0, 25, 75, 100)
    assert [(round(a), round(b)) for a, b in lane_of(watched, "billing-api-2", "there")] == [(0, 100)]
    bands = [(round(a), round(b)) for a, b in lane_of(watched, "billing-api-2", "band")]
    assert sorted(bands) == [(0, 25), (25, 50), (75, 100)]


def test_kinds_of_events_are_shown_once_with_their_number(watched: WatchedPage) -> None:
    watched.go("/", ".events li")
    second = watched.page.locator(".events li").nth(1)
    assert (second.text_content() or "").endswith("×214")


class ManyGroups(FakeCluster):
    def group_list(self) -> Any:
        return {**super().group_list(), "without_lag": 7}


def test_groups_without_lag_are_said(watched: WatchedPage, console: FakeConsole) -> None:
    console.cluster = ManyGroups(writes=True)
    watched.go("/groups", "table")
    watched.page.reload()
    watched.page.get_by_text("Without lag: the last 7 groups by name.").wait_for()


def test_button_of_a_chart_stands_beside_its_title_on_a_narrow_window(watched: WatchedPage) -> None:
    watched.go("/", ".plot canvas")
    watched.look(360, "light")
    title, button = (watched.page.locator(f"figcaption {each}").first.bounding_box() for each in ("h2", "button"))
    watched.look(1280, "light")
    assert title is not None
    assert button is not None
    assert abs(title["y"] + title["height"] / 2 - button["y"] - button["height"] / 2) < 8


def test_follower_that_caught_up_within_a_second_is_not_told_to_be_behind(watched: WatchedPage) -> None:
    watched.go("/brokers/1", "table[aria-label='Followers that are behind'] tbody tr")
    rows = watched.page.locator("table[aria-label='Followers that are behind'] tbody tr")
    assert rows.locator("td:nth-child(2)").all_text_contents() == ["1", "2"]
    watched.go("/requests", "table[aria-label='Slow requests'] tbody tr")
    assert watched.page.locator("tbody tr:first-child td.num").first.text_content() == "1.9 s"


def test_console_that_is_gone_is_said_and_the_old_view_stays(watched: WatchedPage) -> None:
    watched.go("/topics", "table[aria-label=Topics]")
    watched.page.route("**/api/**", lambda route: route.fulfill(status=502, json={"error": "The cluster is gone."}))
    watched.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    watched.page.get_by_text("The cluster is gone.").wait_for()
    assert len(names(watched)) > 30
    watched.go("/requests/clients", ".note.bad")
    watched.page.unroute("**/api/**")
    watched.page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    watched.page.locator("table[aria-label=Clients]").wait_for()
    assert [each for each in watched.problems() if "502" not in each] == []
    watched.forget_problems()
