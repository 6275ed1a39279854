"""Logins of people: the cluster checks them, and its ACLs decide what each session sees."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._acl import AclBinding, AclOperation, AclPermissionType
from confluent_kafka.admin._resource import ResourcePatternType, ResourceType
from pybroker.config.authorization import ACL_AUTHORIZER
from support.clients.topics import create_topic
from support.console.console_process import ConsoleProcess
from support.processes.broker_process import BrokerProcess
from support.processes.ports import free_port

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    """A broker on which alice may read topic open only; port 0 of the plain listener is the operator's."""
    plain, secured = free_port(), free_port()
    settings = {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://127.0.0.1:{secured}",
        "sasl.enabled.mechanisms": "PLAIN",
        "pybroker.sasl.plain.without.tls": "true",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
            f'{PLAIN} required user_alice="alice-secret" user_root="root-secret";'
        ),
        "authorizer.class.name": ACL_AUTHORIZER,
        "super.users": "User:ANONYMOUS;User:root",
    }
    with BrokerProcess(tmp_path_factory.mktemp("broker"), settings) as running:
        for topic in ("open", "closed"):
            create_topic(running.bootstrap_servers, topic, 1)
        admin = AdminClient({"bootstrap.servers": running.bootstrap_servers})
        kind, literal, allow = ResourceType.TOPIC, ResourcePatternType.LITERAL, AclPermissionType.ALLOW
        rule = AclBinding(kind, "open", literal, "User:alice", "*", AclOperation.READ, allow)
        for created in admin.create_acls([rule]).values():
            created.result()
        running.settings["secured"] = str(secured)
        yield running


@pytest.fixture
def console(broker: BrokerProcess, tmp_path: Path) -> Iterator[ConsoleProcess]:
    config = tmp_path / "client.properties"
    config.write_text("security.protocol=SASL_PLAINTEXT\n")
    secured = f"127.0.0.1:{broker.settings['secured']}"
    with ConsoleProcess(secured, "--command-config", str(config), "--allow-writes") as running:
        yield running
    assert "Traceback" not in running.output
    assert "alice-secret" not in running.output


def login(console: ConsoleProcess, user: str, password: str) -> Any:
    return console.ask("POST", "/api/session", {"mechanism": "PLAIN", "user": user, "password": password})


def test_session_sees_and_does_what_its_acls_allow(console: ConsoleProcess) -> None:
    session = console.get("/api/session")
    assert (session["login"], session["mechanisms"]) == ("needed", ["PLAIN"])
    assert console.ask("GET", "/api/topics").status == 401
    assert login(console, "alice", "wrong").status == 401
    reply = login(console, "alice", "alice-secret")
    assert reply.json()["user"] == "alice"
    assert {"HttpOnly", "SameSite=strict"} <= set(reply.headers["set-cookie"].split("; "))
    assert [row["topic"] for row in console.get("/api/topics")["items"]] == ["open"]
    assert console.get("/api/topics/open/records")["records"] == []
    refused = console.ask("GET", "/api/topics/closed/records")
    assert (refused.status, refused.json()["code"]) == (403, "TOPIC_AUTHORIZATION_FAILED")
    assert console.ask("POST", "/api/topics/open/records", {"value": {"text": "a"}}).status == 403
    assert console.ask("DELETE", "/api/topics/open", {"confirm": "open"}).status in (400, 403)
    assert console.ask("GET", "/api/configs").status == 403
    assert console.ask("DELETE", "/api/session").status == 204
    assert console.get("/api/session")["login"] == "needed"


def test_sessions_are_separate(console: ConsoleProcess) -> None:
    login(console, "alice", "alice-secret")
    of_alice = console.cookie
    console.cookie = None
    login(console, "root", "root-secret")
    assert {"open", "closed"} <= {row["topic"] for row in console.get("/api/topics")["items"]}
    console.cookie = of_alice
    assert [row["topic"] for row in console.get("/api/topics")["items"]] == ["open"]
    console.cookie = "pybroker_console=" + "x" * 43
    assert console.ask("GET", "/api/topics").status == 401


def test_guesses_of_passwords_are_limited(console: ConsoleProcess) -> None:
    statuses = [login(console, "alice", f"guess {number}").status for number in range(22)]
    assert statuses == [401] * 20 + [429] * 2
