"""``explain acl -b``: by the ACLs that a cluster tells."""

from collections.abc import Iterator

import pytest
from pybroker import Broker
from pybroker.base.acls import AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.protocol.apis import ApiKey
from pybroker.views.explanations import AclExplanation
from support.clients.commands import Pybroker, rows_of
from support.clients.wire_client import WireClient
from support.load.request_of_each_api import plain_request


@pytest.fixture(scope="module")
def guarded() -> Iterator[str]:
    """A broker with an ACL that lets ana read topics whose names begin with or."""
    with Broker({"authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:ANONYMOUS"}) as broker:
        creation = {
            "resource_type": AclResourceType.TOPIC,
            "resource_name": "or",
            "resource_pattern_type": PatternType.PREFIXED,
            "principal": "User:ana",
            "host": "*",
            "operation": AclOperation.READ,
            "permission_type": AclPermission.ALLOW,
        }
        with WireClient(broker.bootstrap_servers) as client:
            (result,) = client.ask(plain_request(ApiKey.CREATE_ACLS, creations=[creation]), 3).results
            assert not result.error_code
        yield broker.bootstrap_servers


def test_rule_that_decides_is_named(pybroker: Pybroker, guarded: str) -> None:
    question = ("explain", "acl", "--operation", "Read", "--topic", "orders", "-b", guarded)
    allowed = pybroker(*question, "--user", "ana", "-o", "json")
    (view,) = rows_of(allowed.out, AclExplanation)
    assert (allowed.code, view["allowed"], view["rule"]["resource"]) == (0, True, "or")
    denied = pybroker(*question, "--user", "bob")
    assert denied.code == 4
    assert "the brokers do not tell super.users" in denied.out


def test_explanation_is_told_in_the_words_of_acls_check(pybroker: Pybroker, guarded: str) -> None:
    for user, topic in (("ana", "orders"), ("bob", "orders"), ("bob", "other")):
        asked = (user, "read", f"topic/{topic}", "-b", guarded)
        assert pybroker("explain", "acl", *asked) == pybroker("acls", "check", *asked)
    denied = pybroker("explain", "acl", "bob", "read", "topic/orders", "-b", guarded).out
    assert "  nearest   ALLOW User:ana Read Topic/or (prefixed) from *" in denied
    assert "  would do  pybroker acls add --allow User:bob --read --topic orders" in denied
    closed = pybroker("explain", "acl", "bob", "read", "topic/other", "-b", guarded).out
    assert "allow.everyone.if.no.acl.found decides: it is false." in closed


def test_question_may_be_three_words(pybroker: Pybroker, guarded: str) -> None:
    for user, code in (("User:ana", 0), ("bob", 4)):
        words = pybroker("explain", "acl", user, "read", "topic/orders", "-b", guarded)
        options = pybroker("explain", "acl", "-b", guarded, "--user", user, "--operation", "Read", "--topic", "orders")
        assert (words.code, words.out) == (code, options.out)


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ([], "USER is missing"),
        (["ana"], "OPERATION is missing"),
        (["ana", "read"], "RESOURCE is missing"),
        (["ana", "read", "orders"], "orders: must be topic/NAME"),
        (["ana", "read", "topic/orders", "--group", "g"], "give one resource"),
    ],
)
def test_question_that_is_not_whole_is_refused(pybroker: Pybroker, question: list[str], words: str) -> None:
    for option in (["-b", "127.0.0.1:1"], []):
        ran = pybroker("explain", "acl", *question, *option)
        assert (ran.code, ran.out) == (2, "")
        assert words in ran.err


def test_cluster_without_authorizer_allows_everything(
    pybroker: Pybroker, servers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYBROKER_BOOTSTRAP", servers)
    ran = pybroker("explain", "acl", "--operation", "Read", "--topic", "orders", "--user", "bob")
    assert ran.code == 0


def test_question_that_makes_no_sense_is_refused(pybroker: Pybroker, servers: str) -> None:
    ran = pybroker("explain", "acl", "--operation", "Fly", "--topic", "orders", "-b", servers, "--user", "bob")
    assert ran.code == 2
    assert "pybroker explain acl --help" in ran.err
