"""Tests of the console's pages with the real console and a real broker: hostile records and groups, and a live tail."""

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from support.clients.topics import create_topic
from support.console.browser import WatchedPage, watched_page
from support.console.console_process import ConsoleProcess
from support.console.hostile_texts import HOSTILE
from support.processes.broker_or_kafka import StartedBroker, broker_or_kafka

TOPIC = "hostile"
WITHOUT_AUTHORIZER = "allowed: there is no authorizer, because authorizer.class.name is not set"
SHOWN = 65_536
"""Bytes of a value that the details show; the rest can be downloaded."""
GROUPS = [text for text in HOSTILE if text.isprintable() and text not in ("", ".", "..") and len(text) < 250][::7]


@pytest.fixture(scope="module")
def broker(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedBroker]:
    with broker_or_kafka(pytestconfig, tmp_path_factory.mktemp("broker"), {}) as started:
        yield started


def write(broker: StartedBroker, texts: list[str]) -> None:
    """Writes each text as key, value, and value of a header, and under its number as name of a header."""
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    for text in texts:
        data = text.encode(errors="surrogatepass")
        name = text.replace("\0", "").encode(errors="replace").decode() or "empty"
        producer.produce(TOPIC, data, data, headers=[(name, data)])
    assert producer.flush(60) == 0


@pytest.fixture(scope="module")
def watched(browser: Any, broker: StartedBroker) -> Iterator[WatchedPage]:
    create_topic(broker.bootstrap_servers, TOPIC, 1, {})
    write(broker, HOSTILE)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    for group in GROUPS:
        place = ConsumerGroupTopicPartitions(group, [TopicPartition(TOPIC, 0, 7)])
        for done in admin.alter_consumer_group_offsets([place]).values():
            done.result()
    with ConsoleProcess(broker.bootstrap_servers) as console:
        assert "require-trusted-types-for 'script'" in console.ask("GET", "/").headers["content-security-policy"]
        with watched_page(browser, f"http://127.0.0.1:{console.port}") as page:
            page.show("/", ".figures")
            yield page
            assert page.problems() == []


def test_hostile_records_stand_in_the_list_and_in_the_details_as_text(watched: WatchedPage) -> None:
    watched.go(f"/topics/{TOPIC}/records?from=earliest", "table[aria-label=Records] tbody tr:nth-child(50)")
    watched.screenshot("real-hostile-records", full=False)
    keys = watched.page.locator("table[aria-label=Records] tbody tr:nth-child(3) td .mono").all_text_contents()
    assert HOSTILE[2] in keys
    for offset in range(0, len(HOSTILE), 9):
        watched.go(
            f"/topics/{TOPIC}/records?from=earliest&open=0-{offset}", f"aside[aria-label='Record 0-{offset}'] .facts"
        )
        shown = watched.page.locator("aside pre[aria-label=Key]").text_content()
        if HOSTILE[offset].isprintable():
            assert shown == HOSTILE[offset][:SHOWN]


def test_search_for_a_hostile_literal_finds_its_records(watched: WatchedPage) -> None:
    watched.go(f"/topics/{TOPIC}/records", "form.records")
    watched.page.get_by_label("Filter records").fill('value:"onerror=alert(1)>"')
    watched.page.keyboard.press("Enter")
    hits = sum("onerror=alert(1)>" in text for text in HOSTILE)
    watched.page.get_by_text(f", {hits} hits,").wait_for()
    assert watched.page.locator("table[aria-label=Records] tbody tr").count() == hits


def test_groups_with_hostile_names_are_listed_and_open(watched: WatchedPage) -> None:
    watched.go("/groups", "table[aria-label=Groups] tbody tr")
    assert set(watched.page.locator("td:first-child .name").all_text_contents()) >= set(GROUPS)
    for group in GROUPS[::4]:
        watched.go("/groups", "table[aria-label=Groups] tbody tr")
        watched.page.get_by_role("link", name=group, exact=True).click()
        watched.page.locator("table[aria-label=Offsets] tbody tr").wait_for()
        assert watched.page.locator("h1").text_content() == group


def test_live_tail_shows_a_record_that_is_written_now(watched: WatchedPage, broker: StartedBroker) -> None:
    watched.go(f"/topics/{TOPIC}/records", "form.records")
    watched.page.get_by_role("button", name="Live").click()
    watched.page.get_by_text("Waiting for records …").wait_for()
    from playwright import sync_api

    seen = watched.page.get_by_role("cell", name="written while the tail runs").first
    # The page says that it is live before the console knows the end of the topic.
    for _ in range(20):
        write(broker, ["written while the tail runs"])
        with contextlib.suppress(sync_api.TimeoutError):
            seen.wait_for(timeout=1000)
            break
    assert seen.is_visible()


def test_page_explain_answers_each_kind_of_question(watched: WatchedPage) -> None:
    watched.go("/explain", "main form")
    page, form = watched.page, watched.page.locator("main form")
    for kind, principal in (
        ("TOPIC", "User:ana"),
        ("CLUSTER", "ana"),
        ("USER", "User:<b>ana</b>"),
        ("GROUP", "User:ö"),
    ):
        form.get_by_label("Kind of resource").select_option(kind)
        form.get_by_label("principal").fill(principal)
        name = form.get_by_label("named")
        if name.is_enabled():
            name.fill(f"of-{kind}")
        else:
            assert (kind, name.input_value()) == ("CLUSTER", "kafka-cluster")
        for operation in form.get_by_label("operation").locator("option").all_text_contents():
            form.get_by_label("operation").select_option(operation)
            form.get_by_role("button", name="Explain").click()
            page.locator(".note", has_text=f"{principal}, {operation} on {kind}").wait_for()
        assert page.locator("pre").text_content() == WITHOUT_AUTHORIZER
    watched.screenshot("real-explain", full=False)
