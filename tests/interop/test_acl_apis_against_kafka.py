"""Apache Kafka gives the same responses to CreateAcls, DescribeAcls and DeleteAcls, except for a list of deviations."""

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pybroker.base.acl_rules.question import AclQuestion
from pybroker.base.acls import AclOperation, AclPermission, AclResourceType, PatternType
from pybroker.broker.apis.security.create_acls import CreateAcls
from pybroker.broker.apis.security.delete_acls import DeleteAcls
from pybroker.broker.apis.security.describe_acls import DescribeAcls
from pybroker.broker.requests.context import Handler
from pybroker.broker.security.acl.acl_administration import AclAdministration
from pybroker.client.asynchronous.cluster import AsyncCluster
from pybroker.client.client_settings import take_client_settings
from pybroker.client.given_options import GivenOptions
from pybroker.console.cluster_views.explained_acl import explained_acl
from pybroker.controller.acl_tree import AclTree
from pybroker.controller.live_acls import LiveAcls
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pybroker.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pybroker.protocol.messages.describe_acls import DescribeAclsRequest
from support.clients.wire_client import WireClient
from support.in_process.group_handlers import call
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

STEPS = 300
# Codes of the protocol: TOPIC, GROUP, CLUSTER, USER; LITERAL, PREFIXED; ALL, READ, WRITE, DESCRIBE; DENY, ALLOW.
TYPES, PATTERN_TYPES, OPERATIONS, PERMISSIONS = (2, 3, 4, 7), (3, 4), (2, 3, 4, 8), (2, 3)
NAMES = ("a", "ab", "abc", "*", "kafka-cluster")
PRINCIPALS, HOSTS = ("User:a", "User:*", "Group:x"), ("*", "10.0.0.1")
# Kafka fails with an unexpected exception; pybroker says that the request is invalid.
DEVIATIONS: list[dict[str, Any]] = [
    {"resource_type": 1},
    {"resource_pattern_type": 1},
    {"resource_pattern_type": 2},
    {"operation": 1},
    {"permission_type": 1},
    {"principal": "alice"},
    {"resource_name": "."},
    {"resource_name": "𝄞"},
]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaProcess]:
    zookeeper = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper")).start()
    settings = {
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "super.users": "User:ANONYMOUS",
    }
    process = KafkaProcess(tmp_path_factory.mktemp("kafka"), zookeeper, settings).start()
    yield process
    process.stop()
    zookeeper.stop()


async def no_wait() -> None:
    """There are no other writers."""


def creation(random: Random) -> AclCreation:
    odd = random.random() < 0.15
    return AclCreation(
        resource_type=random.choice((*TYPES, 99) if odd else TYPES),
        resource_name=random.choice(("", "a/b", "ä") if odd else NAMES),
        resource_pattern_type=random.choice((*PATTERN_TYPES, 9) if odd else PATTERN_TYPES),
        principal=random.choice(PRINCIPALS),
        host=random.choice(HOSTS),
        operation=random.choice((*OPERATIONS, 77) if odd else OPERATIONS),
        permission_type=random.choice((*PERMISSIONS, -1) if odd else PERMISSIONS),
    )


def wanted(random: Random) -> dict[str, Any]:
    """A filter that restricts two fields on average, so that filters of one request often overlap."""
    everything = {
        "resource_type_filter": 1,
        "resource_name_filter": None,
        "pattern_type_filter": random.choice((1, 2)),
        "principal_filter": None,
        "host_filter": None,
        "operation": 1,
        "permission_type": 1,
    }
    restricted = {
        "resource_type_filter": random.choice((*TYPES, 99)),
        "resource_name_filter": random.choice((*NAMES, "", "a/b", "abcd")),
        "pattern_type_filter": random.choice((*PATTERN_TYPES, 9)),
        "principal_filter": random.choice(PRINCIPALS),
        "host_filter": random.choice(HOSTS),
        "operation": random.choice((*OPERATIONS, 77)),
        "permission_type": random.choice(PERMISSIONS),
    }
    return everything | {name: value for name, value in restricted.items() if random.random() < 0.3}


def request_and_version(random: Random) -> tuple[Message, int]:
    version = random.randrange(4)
    match random.randrange(4):
        case 0 | 1:
            creations = [creation(random) for _ in range(random.randrange(1, 6))]
            if version == 0:
                for each in creations:
                    each.resource_pattern_type = 3
            return CreateAclsRequest(creations=creations), version
        case 2:
            filters = [wanted(random) for _ in range(random.randrange(1, 3))]
            if version == 0:
                filters = [{**each, "pattern_type_filter": 3} for each in filters]
            return DeleteAclsRequest(filters=[DeleteAclsFilter(**each) for each in filters]), version
        case _:
            fields = wanted(random)
            return DescribeAclsRequest(**(fields if version else {**fields, "pattern_type_filter": 3})), version


def plain(response: Any) -> object:
    """The response without the order that Kafka's hash tables give it."""
    match response:
        case list():
            items = [plain(each) for each in response]
            is_ordered = any(
                type(each).__name__ in ("AclCreationResult", "DeleteAclsFilterResult") for each in response
            )
            return items if is_ordered else sorted(items, key=repr)
        case _ if hasattr(response, "SCHEMA"):
            return {field.name: plain(getattr(response, field.name)) for field in response.SCHEMA.fields}
        case _:
            return response


class OurBroker:
    def __init__(self, store: EmbeddedStore) -> None:
        tree = AclTree(store, no_wait)
        self.live = LiveAcls(tree, lambda _: None, lambda: 0, is_alone=True)
        administration = AclAdministration(tree, self.live)
        self._handlers: dict[type, Handler] = {
            CreateAclsRequest: CreateAcls(administration),
            DescribeAclsRequest: DescribeAcls(administration),
            DeleteAclsRequest: DeleteAcls(administration),
        }

    async def ask(self, request: Message, version: int) -> Any:
        return await call(self._handlers[type(request)], version, request)


async def test_kafka_gives_the_same_responses(kafka: KafkaProcess, tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 0)
    ours = OurBroker(store)
    await ours.live.load()
    random = Random(391)
    found = 0
    with WireClient(kafka.bootstrap_servers) as client:
        for _ in range(STEPS):
            request, version = request_and_version(random)
            theirs = plain(client.ask(request, version))
            assert plain(await ours.ask(request, version)) == theirs, (request, version)
            found += "matching_acls': [{" in repr(theirs)
        assert found > 10
        for changed in DEVIATIONS:
            acl = AclCreation(
                resource_type=2, resource_name="d", principal="User:d", host="*", operation=3, permission_type=3
            )
            for name, value in changed.items():
                setattr(acl, name, value)
            request = CreateAclsRequest(creations=[acl])
            (theirs_failed,) = client.ask(request, 3).results
            (ours_failed,) = (await ours.ask(request, 3)).results
            assert (theirs_failed.error_code, ours_failed.error_code) == (
                ErrorCode.UNKNOWN_SERVER_ERROR,
                ErrorCode.INVALID_REQUEST,
            ), changed
    await store.close()


async def test_console_explains_by_the_acls_that_kafka_tells(kafka: KafkaProcess) -> None:
    cluster = AsyncCluster(take_client_settings(GivenOptions({"bootstrap.servers": kafka.bootstrap_servers}), "test"))
    kind = AclResourceType.TRANSACTIONAL_ID
    question = AclQuestion("User:ana", "*", AclOperation.DESCRIBE, kind, "tx-7")
    answer = await explained_acl(cluster, question)
    assert (answer["allowed"], answer["decided_by"]) == (False, "NO_ACL"), "allow.everyone.if.no.acl.found is not set"
    assert "super.users, which may allow it all the same" in answer["text"]
    acl = AclCreation(
        resource_type=kind,
        resource_name="tx-",
        resource_pattern_type=PatternType.PREFIXED,
        principal="User:ana",
        host="*",
        operation=AclOperation.WRITE,
        permission_type=AclPermission.ALLOW,
    )
    (created,) = (await cluster.ask_any(CreateAclsRequest(creations=[acl]))).results
    assert created.error_code == ErrorCode.NONE
    answer = await explained_acl(cluster, question)
    assert (answer["allowed"], answer["rule"]["operation"], answer["rule"]["resource"]) == (True, "WRITE", "tx-")
    cluster.close()
