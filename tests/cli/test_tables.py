"""The tables of commands are the recorded ones, in 80 columns, with and without a terminal, and with hostile names.

To record tables anew, delete their file and run the test, which then writes the file and fails.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from confluent_kafka import Consumer
from pybroker import Broker
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message
from support.clients.commands import Ran, run
from support.clients.lying_broker import LyingBroker, lying_broker
from support.source_tree import ROOT

TABLES = ROOT / "tests" / "reference" / "tables"
HOSTILE = "a\x1b[31mb\nc\u202e\u754c"
"""An escape of a terminal, a newline, an override of the direction, and a letter that is two columns wide."""
COMMANDS = (
    "topics list",
    "topics list -o wide",
    "topics describe {topic}",
    "topics describe {topic} --consumers",
    "groups list",
    "groups list --lag",
    "groups describe {group}",
    "groups lag --all",
    "cluster info",
    "cluster brokers",
    "cluster health",
    "acls list",
    "acls check alice write {resource}",
    "configs get {resource} --non-default",
)
MEMBER_ID = 36
COLUMNS = 80
MANY = 10_000


def printed(servers: str, *, topic: str, group: str, is_terminal: bool = False) -> dict[str, Ran]:
    """The output of each command."""
    names = {"topic": topic, "group": group, "resource": f"topic/{topic}"}
    words = {command: [word.format(**names) for word in shlex.split(command)] for command in COMMANDS}
    return {command: run(servers, *given, is_terminal=is_terminal) for command, given in words.items()}


def as_text(ran: dict[str, Ran]) -> str:
    text = "".join(f"$ pybroker {command}    # {each.code}\n{each.out}\n" for command, each in ran.items())
    text = re.sub(r"(?<=127\.0\.0\.1:)\d{5}", "54321", text)
    text = re.sub(r"(?<=reader-)[0-9a-f-]{36}", "0" * MEMBER_ID, text)
    text = re.sub(r"  \d[\d.]* [smd](?: \d+ [smh])? +(?=[a-])", "  <age>  ", text)
    return re.sub(r"((?:, id |^cluster {5}))[\w-]{22}$", rf"\g<1>{'x' * 22}", text, flags=re.MULTILINE)


def check(name: str, text: str) -> None:
    file = TABLES / f"{name}.txt"
    if not file.exists():
        file.write_text(text, encoding="utf-8")
        pytest.fail(f"{file} was not there; look at what was written")
    assert text.split("$ pybroker ") == file.read_text(encoding="utf-8").split("$ pybroker ")


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker with two topics, a group with a member and one without, and access rules."""
    settings = {
        "broker.id": "3",
        "group.initial.rebalance.delay.ms": "0",
        "log.retention.ms": "-1",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    lines = tmp_path_factory.mktemp("lines") / "lines"
    lines.write_text("value\n" * 1200)
    with Broker(settings) as broker:
        for words in (
            "topics create orders -p 3 -c retention.ms=86400000 -c max.message.bytes=2000000",
            "topics create payments-of-customers -p 1",
            f"produce orders -p 0 -l {lines}",
            "consume orders -g nightly-report --commit --until end -n 1000",
            "acls add --allow alice --read --topic orders",
            "acls add --deny bob --all --group bill --prefixed --host 10.0.0.7",
        ):
            ran = run(broker.bootstrap_servers, *words.split())
            assert ran.code == 0, ran.err
        reader = {"group.id": "billing", "client.id": "reader", "enable.auto.commit": False}
        member = Consumer({"bootstrap.servers": broker.bootstrap_servers, **reader})
        member.subscribe(["orders"])
        while not member.assignment():
            member.poll(0.1)
        yield broker.bootstrap_servers
        member.close()


def test_tables_are_the_recorded_ones_and_fit_80_columns(servers: str) -> None:
    ran = printed(servers, topic="orders", group="billing")
    check("usual", as_text(ran))
    for each in ran.values():
        assert not each.err
        wide = [line for line in each.out.splitlines() if len(line) > COLUMNS]
        assert [line for line in wide if not re.search(r"  (MEMBER|reader-[0-9a-f-]{36})$", line)] == []


def test_tables_of_hostile_names_are_the_recorded_ones() -> None:
    with lying_broker(HOSTILE) as servers:
        check("hostile", as_text(printed(servers, topic=HOSTILE, group=HOSTILE)))


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"COLUMNS": "40", "TERM": "xterm-256color"}])
def test_tables_are_the_same_on_a_terminal(
    servers: str, variables: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    check("usual", as_text(printed(servers, topic="orders", group="billing", is_terminal=True)))


class LargeBroker(LyingBroker):
    """A broker of 10,000 topics and 10,000 groups."""

    def _response(self, key: ApiKey, request: Message, version: int) -> Message:
        answer: Any = super()._response(key, request, version)
        if key is ApiKey.METADATA:
            (topic,) = answer.topics
            answer.topics = [replace(topic, name=f"topic-{number}") for number in range(MANY)]
        elif key is ApiKey.LIST_GROUPS:
            (group,) = answer.groups
            answer.groups = [replace(group, group_id=f"group-{number}") for number in range(MANY)]
        return answer  # type: ignore[no-any-return]


@pytest.mark.parametrize("noun", ["topic", "group"])
def test_lists_of_10_000_names_are_whole_and_sorted(noun: str) -> None:
    with lying_broker("x", kind=LargeBroker) as servers:
        ran = run(servers, f"{noun}s", "list")
        named = run(servers, f"{noun}s", "list", f"{noun}-12*", "-o", "name")
    titles, *rows = ran.out.splitlines()
    names = sorted(f"{noun}-{number}" for number in range(MANY))
    assert (ran.code, titles.split()[0], [row.split()[0] for row in rows]) == (0, noun.upper(), names)
    assert len({len(row) for row in rows}) == 1
    assert named.out.split() == [name for name in names if name.startswith(f"{noun}-12")]
