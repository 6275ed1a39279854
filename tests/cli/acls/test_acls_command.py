"""`pybroker acls` against a broker in this process. Verdicts are compared with what the broker does."""

from collections.abc import Iterator

import pytest
from pybroker import Broker
from pybroker.cli.acls.shapes import AccessRule, AccessRuleChange, AccessVerdict
from support.clients.commands import checked_json, run

AUTHORIZER = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer"}


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker({**AUTHORIZER, "super.users": "User:ANONYMOUS"}) as broker:
        yield broker.bootstrap_servers


def test_rules_of_all_combinations_are_added_listed_and_removed(servers: str) -> None:
    add = ["acls", "add", "--allow", "alice", "--read", "--write", "--topic", "a", "--topic", "b"]
    assert len(checked_json(servers, AccessRuleChange, *add, "--dry-run")) == 4
    assert checked_json(servers, AccessRule, "acls", "list", "--user", "alice") == []
    assert len(checked_json(servers, AccessRuleChange, *add)) == 4
    assert checked_json(servers, AccessRuleChange, *add, "--dry-run") == []
    shown = run(servers, "acls", "list", "--topic", "a", "--write")
    assert shown.out == (
        "RESOURCE  PATTERN  PRINCIPAL   HOST  OPERATION  PERMISSION\n"
        "Topic/a   LITERAL  User:alice  *     Write      ALLOW\n"
    )
    assert run(servers, "acls", "remove", "--topic", "a").code == 2  # no terminal to ask on
    removed = checked_json(servers, AccessRuleChange, "acls", "remove", "--topic", "a", "-y")
    assert [each["rule"]["resource"] for each in removed] == ["a", "a"]
    assert len(checked_json(servers, AccessRule, "acls", "list", "--user", "alice")) == 2


def test_check_names_the_rule_that_decides(servers: str) -> None:
    run(servers, "acls", "add", "--allow", "bob", "--read", "--topic", "pay", "--prefixed")
    run(servers, "acls", "add", "--deny", "bob", "--all", "--topic", "payroll")
    allowed = run(servers, "acls", "check", "bob", "describe", "topic/payments")
    assert (allowed.code, allowed.err) == (0, "")
    assert "ALLOW User:bob Read Topic/pay (prefixed)" in allowed.out
    denied = run(servers, "acls", "check", "bob", "read", "topic/payroll")
    assert denied.code == 4
    assert "DENY User:bob All Topic/payroll (literal)" in denied.out


def test_denied_check_shows_near_rules_the_remedy_and_what_was_assumed(servers: str) -> None:
    run(servers, "acls", "add", "--allow", "carol", "--read", "--topic", "orders")
    denied = run(servers, "acls", "check", "carol", "write", "topic/orders")
    assert denied.out == (
        "DENIED. ACLs apply to the resource, but none allows the operation.\n"
        "  nearest   ALLOW User:carol Read Topic/orders (literal) from *\n"
        "  would do  pybroker acls add --allow User:carol --write --topic orders\n"
        "  note      the brokers do not tell super.users, which may allow it all the same\n"
    )
    remedy = denied.out.split("pybroker ")[1].split("\n")[0]
    assert run(servers, *remedy.split()).code == 0
    assert run(servers, "acls", "check", "carol", "write", "topic/orders").code == 0


def test_resource_without_rules_is_closed_unless_a_hidden_setting_opens_it(servers: str) -> None:
    closed = run(servers, "acls", "check", "eve", "read", "group/none")
    assert closed.code == 4
    assert "taken for false" not in closed.out  # the setting has its default, which is known
    with Broker({**AUTHORIZER, "super.users": "User:ANONYMOUS", "allow.everyone.if.no.acl.found": "true"}) as broker:
        hidden = run(broker.bootstrap_servers, "acls", "check", "eve", "read", "group/none")
    assert hidden.code == 1
    assert hidden.out.splitlines()[0] == (
        "UNKNOWN. No ACL applies to the resource, and allow.everyone.if.no.acl.found decides."
    )


def test_everything_is_allowed_without_an_authorizer() -> None:
    with Broker() as broker:
        ran = run(broker.bootstrap_servers, "acls", "check", "alice", "read", "topic/a")
        assert (ran.code, ran.out[:9]) == (0, "ALLOWED. ")
        assert run(broker.bootstrap_servers, "acls", "list").code == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["add", "--allow", "a", "--topic", "t"], "a rule for what"),
        (["add", "--allow", "a", "--read"], "which resource"),
        (["add", "--read", "--topic", "t"], "whose rule"),
        (["remove"], "which rules"),
        (["check", "a", "fly", "cluster"], "operations on a Cluster"),
        (["check", "a", "read", "topik/t"], "must be topic/NAME"),
    ],
)
def test_incomplete_questions_are_bad_arguments(servers: str, arguments: list[str], words: str) -> None:
    ran = run(servers, "acls", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err


def test_verdict_as_json_fits_its_schema(servers: str) -> None:
    run(servers, "acls", "add", "--allow", "dora", "--all", "--cluster")
    (verdict,) = checked_json(servers, AccessVerdict, "acls", "check", "dora", "alter", "cluster")
    assert verdict["rule"]["operation"] == "All"
