"""The console as people use it with real clusters: writes, logins, and three brokers that tell more under /v1."""

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, TopicPartition
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from confluent_kafka.admin._scram import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from pybroker import Broker
from pybroker.config.authorization import ACL_AUTHORIZER
from support.clients.topics import admin_client, create_topic
from support.console.answer_shapes import lacking
from support.console.browser import WatchedPage, watched_page
from support.console.console_process import ConsoleProcess
from support.console.fake_cluster import FakeCluster
from support.console.three_brokers import three_brokers
from support.console.views import PAGES
from support.processes.ports import free_port

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
NAMES = count()


class Servers:
    """A broker whose plain listener is the operator's; at the other one, alice may read topic `open` only."""

    def __init__(self) -> None:
        self.plain, self.secured = (f"127.0.0.1:{free_port()}" for _ in range(2))
        self.settings = {
            "listeners": f"PLAINTEXT://{self.plain},SASL_PLAINTEXT://{self.secured}",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256",
            "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config": SCRAM,
            "authorizer.class.name": ACL_AUTHORIZER,
            "super.users": "User:ANONYMOUS",
        }

    def fill(self) -> None:
        admin = admin_client(self.plain)
        credentials = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
        change = UserScramCredentialUpsertion("alice", credentials, b"alice-secret")
        admin.alter_user_scram_credentials([change])["alice"].result()
        literal, allow = ResourcePatternType.LITERAL, AclPermissionType.ALLOW
        rule = AclBinding(ResourceType.TOPIC, "open", literal, "User:alice", "*", AclOperation.READ, allow)
        for created in admin.create_acls([rule]).values():
            created.result()
        for topic in ("open", "closed"):
            create_topic(self.plain, topic, 1)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    made = Servers()
    with Broker(made.settings):
        made.fill()
        yield made


@pytest.fixture(scope="module")
def writer(servers: Servers) -> Iterator[ConsoleProcess]:
    with ConsoleProcess(servers.plain, "--allow-writes") as console:
        yield console


@pytest.fixture(scope="module")
def open_page(browser: Any, writer: ConsoleProcess) -> Iterator[WatchedPage]:
    with watched_page(browser, f"http://127.0.0.1:{writer.port}") as page:
        page.show("/explain", "main form")
        yield page


@pytest.fixture
def watched(open_page: WatchedPage) -> Iterator[WatchedPage]:
    yield open_page
    assert [each for each in open_page.problems() if "status of 409" not in each] == []
    open_page.page.keyboard.press("Escape")


@pytest.fixture
def topic(servers: Servers) -> str:
    name = f"topic-{next(NAMES)}"
    create_topic(servers.plain, name, 1)
    return name


def line(servers: Servers, tool: str, arguments: str) -> str:
    return f"{tool} --bootstrap-server {servers.plain} {arguments}"


def test_topic_is_created_after_the_equal_command_line_was_shown(
    watched: WatchedPage, writer: ConsoleProcess, servers: Servers
) -> None:
    watched.go("/topics", "table")
    watched.page.get_by_role("button", name="Create topic").click()
    dialog = watched.page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("open")
    dialog.get_by_text("Topic 'open' already exists.").wait_for()
    dialog.get_by_label("Name").fill("new")
    dialog.get_by_label("Partitions").fill("3")
    dialog.get_by_label("Settings").fill("retention.ms=1000\n cleanup.policy = compact ")
    arguments = "--create --topic new --partitions 3 --config retention.ms=1000 --config cleanup.policy=compact"
    dialog.get_by_text(line(servers, "kafka-topics.sh", arguments)).wait_for()
    watched.screenshot("create-topic-light", full=False)
    assert writer.ask("GET", "/api/topics/new").status == 404
    dialog.get_by_role("button", name="Create topic").click()
    dialog.get_by_text("Done.").wait_for()
    made = writer.get("/api/topics/new")
    assert (made["topic"]["cleanup_policy"], len(made["partitions"])) == ("compact", 3)
    watched.page.locator("main").get_by_role("link", name="new", exact=True).wait_for()


def test_record_is_produced_and_seen(
    watched: WatchedPage, writer: ConsoleProcess, servers: Servers, topic: str
) -> None:
    watched.go(f"/topics/{topic}/records?from=earliest", "form.records")
    watched.page.get_by_role("button", name="Produce").click()
    dialog = watched.page.get_by_role("dialog")
    dialog.get_by_label("Key", exact=True).fill("k")
    dialog.get_by_label("Value", exact=True).fill('{"a": "it\'s"}')
    dialog.get_by_label("Headers").fill("trace: ab31")
    arguments = f"--topic {topic} --property parse.key=true --property parse.headers=true"
    dialog.get_by_text(line(servers, "kafka-console-producer.sh", arguments)).wait_for()
    watched.screenshot("produce-light", full=False)
    assert writer.get(f"/api/topics/{topic}/records")["records"] == []
    dialog.get_by_role("button", name="Produce").click()
    dialog.get_by_text("Written to partition 0 at offset 0.").wait_for()
    (record,) = writer.get(f"/api/topics/{topic}/records")["records"]
    assert (record["key"]["text"], record["value"]["text"]) == ("k", '{"a": "it\'s"}')
    assert [(each["name"], each["value"]["text"]) for each in record["headers"]] == [("trace", "ab31")]
    watched.page.locator("table[aria-label=Records]").get_by_text('{"a": "it\'s"}').wait_for()


def test_offsets_are_reset_by_a_plan_that_is_shown_first(
    watched: WatchedPage, writer: ConsoleProcess, servers: Servers, topic: str
) -> None:
    for number in range(3):
        writer.ask("POST", f"/api/topics/{topic}/records", {"value": {"text": str(number)}})
    group = f"group of {topic}"
    place = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 3)])
    admin = admin_client(servers.plain)
    for done in admin.alter_consumer_group_offsets([place]).values():
        done.result()
    watched.go(f"/groups/{group}", "table[aria-label=Offsets] tbody tr")
    watched.page.get_by_role("button", name="Reset offsets").click()
    dialog = watched.page.get_by_role("dialog")
    dialog.get_by_label("Partitions").fill("0; 2")
    dialog.get_by_role("button", name="Show the plan").click()
    dialog.get_by_text('Partitions are numbers like 0, 2-4; "0; 2" is none.').wait_for()
    dialog.get_by_label("Partitions").fill("0")
    dialog.locator("select").select_option("shift")
    dialog.get_by_label("Value").fill("-2")
    dialog.get_by_role("button", name="Show the plan").click()
    arguments = f"--reset-offsets --group '{group}' --topic {topic}:0 --shift-by -2 --execute"
    equal = dialog.get_by_text(line(servers, "kafka-consumer-groups.sh", arguments))
    equal.wait_for()
    assert dialog.locator("table[aria-label=Plan] tbody td").all_text_contents() == ["0", "3", "1", "-2", "2"]
    row, head = dialog.locator("tbody tr").bounding_box(), dialog.locator("thead tr").bounding_box()
    assert row is not None
    assert head is not None
    assert row["y"] >= head["y"] + head["height"], "the head of the table hides its first row"
    watched.screenshot("reset-offsets-light", full=False)
    assert [each["committed"] for each in writer.get(f"/api/groups/{group.replace(' ', '%20')}")["offsets"]] == [3]
    dialog.get_by_role("button", name="Execute the plan").click()
    dialog.get_by_text("1 of 1 offsets are reset.").wait_for()
    assert equal.is_visible()
    assert [each["committed"] for each in writer.get(f"/api/groups/{group.replace(' ', '%20')}")["offsets"]] == [1]


def test_topic_is_deleted_only_when_its_name_is_typed(
    watched: WatchedPage, writer: ConsoleProcess, servers: Servers, topic: str
) -> None:
    watched.go(f"/topics/{topic}", "table")
    watched.page.get_by_role("button", name="Delete topic …").click()
    dialog = watched.page.get_by_role("dialog")
    button = dialog.get_by_role("button", name="Delete the topic")
    dialog.get_by_text(line(servers, "kafka-topics.sh", f"--delete --topic {topic}")).wait_for()
    dialog.get_by_label("Type the name").fill(topic[:-1])
    assert button.is_disabled()
    dialog.get_by_label("Type the name").fill(topic)
    button.click()
    watched.page.locator("table[aria-label=Topics]").wait_for()
    assert writer.ask("GET", f"/api/topics/{topic}").status == 404


def test_reader_logs_in_and_sees_and_does_what_its_acls_and_the_console_allow(
    browser: Any, servers: Servers, tmp_path: Path
) -> None:
    (tmp_path / "client.properties").write_text("security.protocol=SASL_PLAINTEXT\n")
    with (
        ConsoleProcess(
            f"127.0.0.1:{free_port()},{servers.secured}", "--command-config", str(tmp_path / "client.properties")
        ) as console,
        watched_page(browser, f"http://127.0.0.1:{console.port}") as watched,
    ):
        page = watched.page
        watched.show("/topics", "main.login")
        watched.screenshot("login-light")
        page.get_by_label("User").fill("alice")
        page.get_by_label("Password").fill("wrong")
        assert page.get_by_label("Mechanism").input_value() == "SCRAM-SHA-256"
        page.get_by_role("button", name="Log in").click()
        page.get_by_text("user, password or mechanism is wrong").wait_for()
        page.get_by_label("Password").fill("alice-secret")
        page.get_by_role("button", name="Log in").click()
        page.locator("table[aria-label=Topics] tbody tr").first.wait_for()
        assert page.locator("main td:first-child .name").all_text_contents() == ["open"]
        page.get_by_text("User:alice · read-only").wait_for()
        for path, ready in (("/topics", "table"), ("/topics/open", "table"), ("/topics/open/records", "form.records")):
            watched.go(path, ready)
            writes = page.get_by_role("button").filter(has_text="Create").or_(page.get_by_role("button", name="Delete"))
            assert writes.or_(page.get_by_role("button", name="Produce")).count() == 0
        watched.go("/topics/closed", "main .note.bad")
        shown = page.locator("main").text_content() or ""
        assert "TOPIC_AUTHORIZATION_FAILED" in shown or "authorized" in shown, shown
        refused = page.evaluate(
            "fetch('/api/topics/open', {method: 'DELETE', headers: {'X-Pybroker-Console': '1'},"
            " body: JSON.stringify({confirm: 'open'})}).then(async (answer) => [answer.status, await answer.text()])"
        )
        assert refused[0] == 403
        assert "start it with --allow-writes" in refused[1]
        page.get_by_role("button", name="log out").click()
        page.locator("main.login").wait_for()
        assert [each for each in watched.problems() if "401" not in each and "403" not in each] == []
    assert "alice-secret" not in console.output
    assert "Traceback" not in console.output


def check_every_page(watched: WatchedPage) -> None:
    for path, _ in PAGES.values():
        watched.go(path.replace("0-500012", "0-5"), "main")
        watched.page.locator("main .waiting", has_text="Loading").first.wait_for(state="detached")
        shown = watched.page.locator("main").text_content() or ""
        assert not [
            word for word in ("NaN", "undefined", "[object", "This view failed", "Could not load") if word in shown
        ], (
            path,
            shown,
        )


def check_shapes(console: ConsoleProcess) -> None:
    made_up = FakeCluster()
    answers = {
        "cluster": made_up.cluster(),
        "brokers": made_up.brokers(),
        "brokers/1": made_up.broker(1),
        "partitions": made_up.partitions(),
        "topics": made_up.topic_list(),
        "topics/orders": made_up.topic("orders"),
        "groups": made_up.group_list(),
        "groups/billing": made_up.group("billing"),
        "groups/billing/timeline": made_up.timeline("billing"),
        "clients": made_up.clients(),
        "requests/slow": made_up.slow_requests(),
        "configs": made_up.configs(),
        "session": made_up.session(),
    }
    missing = {path: lacking(answer, console.get(f"/api/{path}")) for path, answer in answers.items()}
    assert {path: names for path, names in missing.items() if names} == {}


def whole_list(console: ConsoleProcess, path: str) -> list[dict[str, Any]]:
    """Asks until sizes, rates and settings are known, as the page does."""
    while not (view := console.get(path))["is_complete"]:
        pass
    items: list[dict[str, Any]] = view["items"]
    return items


def test_three_brokers_are_shown_as_one_cluster_and_the_dead_one_is_missed(browser: Any, tmp_path: Path) -> None:
    # With one replica, the only partition of the offsets topic may be offline when its broker is dead.
    with three_brokers(tmp_path, {"offsets.topic.replication.factor": "3"}) as cluster:
        cluster.fill("orders", 6, records=40)
        committing = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": "billing"})
        committing.commit(offsets=[TopicPartition("orders", 0, 3)], asynchronous=False)
        committing.close()
        told = [word for url in cluster.http_urls for word in ("--v1", url)]
        with (
            ConsoleProcess(cluster.bootstrap_servers, *told) as console,
            watched_page(browser, f"http://127.0.0.1:{console.port}") as watched,
        ):
            page = watched.page
            watched.show("/", ".figures")
            page.get_by_text("Healthy").wait_for()
            watched.screenshot("three-brokers-light")
            assert console.get("/api/cluster")["source"]["brokers"] == 3
            (row,) = whole_list(console, "/api/topics?filter=orders")
            assert (row["partitions"], row["records"], row["replication_factor"]) == (6, 40, 3)
            watched.go("/topics/orders", "table[aria-label=Partitions] tbody tr")
            assert page.get_by_role("img", name="in sync").count() == 6
            check_every_page(watched)
            check_shapes(console)
            cluster.kill(3)
            watched.go("/", "main .note.warn")
            page.get_by_text("lack a replica").first.wait_for()
            watched.go("/topics/orders", "table[aria-label=Partitions] tbody tr")
            page.get_by_text("3 is offline").first.wait_for()
            watched.screenshot("topic-with-dead-replica-light")
            assert watched.problems() == []
