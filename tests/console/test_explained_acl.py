"""The console says why something is allowed: a pybroker tells it, else it decides by the cluster's ACLs."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker import Broker
from pybroker.base.acl_rules.acl_index import AclIndex
from pybroker.base.acl_rules.authorizer import AclAuthorizer
from pybroker.base.acl_rules.operations_of_types import OPERATIONS_OF_TYPES
from pybroker.base.acl_rules.question import AclQuestion
from pybroker.base.acls import AclBinding, AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.broker.library.broker import BlockingBroker
from pybroker.client.asynchronous.cluster import AsyncCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.explained_acl import AuthorizerSettings, ToldSetting, judged
from pybroker.client.given_options import GivenOptions
from pybroker.config.authorization import ACL_AUTHORIZER
from pybroker.console.cluster_views.explained_acl import explained_acl
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.acls import HOSTS, NAMES, PRINCIPALS, bindings, by_pattern, operations
from support.clients.wire_client import WireClient
from support.console.console_process import ConsoleProcess
from support.load.request_of_each_api import plain_request
from support.source_tree import ROOT

questions = st.builds(
    AclQuestion,
    st.sampled_from(PRINCIPALS),
    st.sampled_from(HOSTS),
    operations,
    st.just(AclResourceType.TOPIC),
    st.sampled_from(NAMES[:5]),
)


@given(bindings, questions, st.sets(st.sampled_from(PRINCIPALS)), st.booleans(), st.booleans())
def test_an_answer_never_contradicts_the_cluster(
    acls: list[AclBinding], question: AclQuestion, super_users: set[str], allow_everyone: bool, are_secret: bool
) -> None:
    truth = AclAuthorizer(AclIndex(by_pattern(acls)), super_users, allow_everyone=allow_everyone).may(*question)
    kind, name = question.resource_type, question.name
    told = [acl for acl in acls if acl.pattern.resource_type is kind and acl.pattern.matches(name)]
    settings = [
        ToldSetting("super.users", None if are_secret else ";".join(super_users), are_secret),
        ToldSetting("allow.everyone.if.no.acl.found", None if are_secret else str(allow_everyone), are_secret),
    ]
    answer = judged(question, told, AuthorizerSettings.among(settings))
    if answer.allowed is None:
        assert are_secret
        assert not told
    elif answer.allowed is not truth:
        assert are_secret
        assert question.principal in super_users
        assert answer.doubts == ("the brokers do not tell super.users, which may allow it all the same",)


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    settings = {
        "pybroker.http.listeners": "HTTP://127.0.0.1:0",
        "authorizer.class.name": ACL_AUTHORIZER,
        "super.users": "User:ANONYMOUS",
    }
    with Broker(settings) as running:
        with WireClient(running.bootstrap_servers) as client:
            for permission, name, kind in (
                (AclPermission.ALLOW, "or", PatternType.PREFIXED),
                (AclPermission.DENY, "orders", PatternType.LITERAL),
            ):
                creation = {
                    "resource_type": AclResourceType.TOPIC,
                    "resource_name": name,
                    "resource_pattern_type": kind,
                    "principal": "User:ana",
                    "host": "*",
                    "operation": AclOperation.READ,
                    "permission_type": permission,
                }
                (result,) = client.ask(plain_request(ApiKey.CREATE_ACLS, creations=[creation]), 3).results
                assert result.error_code == ErrorCode.NONE
        yield running


ASKED = [("ana", "orders"), ("ana", "orange"), ("ana", "pears"), ("bob", "orders"), ("ANONYMOUS", "orders")]


async def test_kafka_and_v1_name_the_same_rule(broker: BlockingBroker) -> None:
    options = GivenOptions({"bootstrap.servers": broker.bootstrap_servers})
    cluster = AsyncCluster(take_client_settings(options, "test"))
    assert broker.http_url is not None
    with ConsoleProcess(broker.bootstrap_servers, "--v1", broker.http_url) as console:
        for user, topic in ASKED:
            asked = {"principal": user, "operation": "READ", "resource_type": "TOPIC", "resource_name": topic}
            told = console.get(f"/api/explain/acl?{urlencode(asked)}")
            question = AclQuestion(f"User:{user}", "*", AclOperation.READ, AclResourceType.TOPIC, topic)
            decided = await explained_acl(cluster, question)
            assert told["source"]["kind"] == "v1"
            if told["decided_by"] == "SUPER_USER":
                assert "super.users, which may allow it all the same" in decided["text"]
            else:
                fields = ("allowed", "decided_by", "rule", "principal", "resource")
                assert [decided[name] for name in fields] == [told[name] for name in fields]
        assert told["cli"].startswith("pybroker explain acl --config FILE --user User:ANONYMOUS")
        wrong = asked | {"resource_type": "CLUSTER", "operation": "READ"}
        refused = console.ask("GET", f"/api/explain/acl?{urlencode(wrong)}")
        assert (refused.status, "operations on a Cluster: Create" in refused.json()["error"]) == (400, True)
    cluster.close()


async def test_everything_is_allowed_on_a_cluster_without_an_authorizer() -> None:
    async with Broker() as broker:
        options = GivenOptions({"bootstrap.servers": broker.bootstrap_servers})
        cluster = AsyncCluster(take_client_settings(options, "test"))
        question = AclQuestion("User:ana", "*", AclOperation.READ, AclResourceType.TOPIC, "orders")
        answer = await explained_acl(cluster, question)
        assert (answer["allowed"], answer["decided_by"]) == (True, "NO_AUTHORIZER")
        cluster.close()


def test_the_page_offers_the_operations_of_each_kind_of_resource() -> None:
    page = (ROOT / "console" / "static" / "js" / "pages" / "explain.js").read_text()
    offered: Any = {
        kind: re.findall(r'"(\w+)"', names)
        for kind, names in re.findall(r"^  ([A-Z_]+): \[(.*)\],$", page, re.MULTILINE)
    }
    known = {kind.name: [each.name for each in names] for kind, names in OPERATIONS_OF_TYPES.items()}
    assert offered == known
