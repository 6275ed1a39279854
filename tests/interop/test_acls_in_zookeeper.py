"""Kafka's kafka-acls, which writes straight to ZooKeeper, and pybroker read and write the same ACLs."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from itertools import count

import pytest
from pybroker.base.acl_rules.acl_index import AclIndex
from pybroker.base.acls import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from pybroker.controller.acl_tree import AclTree
from pybroker.controller.live_acls import LiveAcls
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore
from support.acls import by_pattern
from support.clients.kafka_tools import run_tool
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.zookeeper_tree import read_tree

ROOTS = count()
LITERAL, PREFIXED = PatternType.LITERAL, PatternType.PREFIXED


def binding(
    kind: AclResourceType,
    name: str,
    operation: AclOperation,
    pattern_type: PatternType = LITERAL,
    permission: AclPermission = AclPermission.ALLOW,
    principal: str = "User:alice",
    host: str = "*",
) -> AclBinding:
    return AclBinding(ResourcePattern(kind, name, pattern_type), AclEntry(principal, host, operation, permission))


ACLS = [
    binding(AclResourceType.TOPIC, "orders", AclOperation.READ),
    binding(AclResourceType.TOPIC, "orders", AclOperation.DESCRIBE_CONFIGS),
    binding(AclResourceType.TOPIC, "*", AclOperation.ALL, principal="User:CN=a,O=b"),
    binding(AclResourceType.TOPIC, "ord", AclOperation.WRITE, PREFIXED, AclPermission.DENY, "User:*", "10.0.0.1"),
    binding(AclResourceType.GROUP, "a:b", AclOperation.READ),
    binding(AclResourceType.TRANSACTIONAL_ID, "tx", AclOperation.WRITE, PREFIXED),
    binding(AclResourceType.CLUSTER, "kafka-cluster", AclOperation.IDEMPOTENT_WRITE),
    binding(AclResourceType.DELEGATION_TOKEN, "x", AclOperation.DESCRIBE),
    binding(AclResourceType.USER, "User:bob", AclOperation.CREATE_TOKENS),
]
OPTIONS = {
    AclResourceType.TOPIC: "--topic",
    AclResourceType.GROUP: "--group",
    AclResourceType.TRANSACTIONAL_ID: "--transactional-id",
    AclResourceType.DELEGATION_TOKEN: "--delegation-token",
    AclResourceType.USER: "--user-principal",
}


def kafka_acls(connect: str, *arguments: str) -> str:
    return run_tool("kafka.admin.AclCommand", "--authorizer-properties", f"zookeeper.connect={connect}", *arguments)


def arguments_of(acl: AclBinding) -> list[str]:
    """The options that name this ACL."""
    pattern, entry = acl
    who = "allow" if entry.permission is AclPermission.ALLOW else "deny"
    if pattern.resource_type is AclResourceType.CLUSTER:
        resource = ["--cluster"]
    else:
        resource = [OPTIONS[pattern.resource_type], pattern.name]
    return [
        *resource,
        "--resource-pattern-type",
        pattern.pattern_type.name.lower(),
        f"--{who}-principal",
        entry.principal,
        f"--{who}-host",
        entry.host,
        "--operation",
        entry.operation.pascal_name,
    ]


LISTED_RESOURCE = re.compile(r"ResourcePattern\(resourceType=(\w+), name=(.*), patternType=(\w+)\)")
LISTED_ENTRY = re.compile(r"\(principal=(.*), host=(.*), operation=(\w+), permissionType=(\w+)\)")


def listed(output: str) -> set[AclBinding]:
    found = set()
    pattern = None
    for line in output.splitlines():
        if (resource := LISTED_RESOURCE.search(line)) is not None:
            kind, name, pattern_type = resource.groups()
            pattern = ResourcePattern(AclResourceType[kind], name, PatternType[pattern_type])
        if (listed_entry := LISTED_ENTRY.search(line)) is not None:
            principal, host, operation, permission = listed_entry.groups()
            assert pattern is not None
            entry = AclEntry(principal, host, AclOperation[operation], AclPermission[permission])
            found.add(AclBinding(pattern, entry))
    return found


@pytest.fixture(scope="module")
def zookeeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path_factory.mktemp("zookeeper")).start()
    yield process
    process.stop()


@pytest.fixture
def connect(zookeeper: ZooKeeperProcess) -> str:
    return f"{zookeeper.connect}/{next(ROOTS)}"


@pytest.fixture
async def store(connect: str) -> AsyncIterator[ZooKeeperStore]:
    server, _, root = connect.partition("/")
    opened = await ZooKeeperStore.open(ZooKeeperSettings(server, f"/{root}", 10_000, 30_000))
    yield opened
    await opened.close()


@pytest.fixture
async def tree(store: ZooKeeperStore) -> AclTree:
    async def wait() -> None:
        await asyncio.sleep(0.1)

    opened = AclTree(store, wait)
    await opened.create_paths()
    return opened


async def write(tree: AclTree, *acls: AclBinding) -> None:
    for pattern, entries in by_pattern(acls).items():
        await tree.update(pattern, lambda present, entries=entries: present | entries)  # type: ignore[misc]


async def test_kafka_lists_the_acls_that_pybroker_writes(tree: AclTree, connect: str) -> None:
    await write(tree, *ACLS)
    assert listed(await asyncio.to_thread(kafka_acls, connect, "--list")) == set(ACLS)


async def test_pybroker_obeys_the_changes_that_kafka_makes(tree: AclTree, connect: str) -> None:
    index = AclIndex()
    live = LiveAcls(tree, index.replace, lambda: 0, is_alone=False)
    await live.load()
    following = asyncio.create_task(live.run())
    present: list[AclBinding] = []
    for acl in ACLS[:4]:
        await asyncio.to_thread(kafka_acls, connect, "--add", *arguments_of(acl))
        present.append(acl)
        await tree.store.exists("/")  # the watch event comes before this result
        await live.caught_up()
        assert dict(index.acls()) == by_pattern(present)
    for acl in ACLS[:2]:
        await asyncio.to_thread(kafka_acls, connect, "--remove", "--force", *arguments_of(acl))
        present.remove(acl)
        await tree.store.exists("/")
        await live.caught_up()
        assert dict(index.acls()) == by_pattern(present)
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def test_both_write_the_same_nodes(tree: AclTree, connect: str, zookeeper: ZooKeeperProcess) -> None:
    acls = [ACLS[0], ACLS[3], ACLS[5]]
    of_kafka = f"{zookeeper.connect}/kafka-{next(ROOTS)}"
    for acl in acls:
        await write(tree, acl)
        await asyncio.to_thread(kafka_acls, of_kafka, "--add", *arguments_of(acl))
    ours = await asyncio.to_thread(read_tree, connect)
    kafkas = await asyncio.to_thread(read_tree, of_kafka)
    assert {path: node for path, node in ours.items() if "acl" in path} == kafkas


async def test_rules_that_both_add_to_one_topic_at_once_are_all_kept(tree: AclTree, connect: str) -> None:
    theirs = [binding(AclResourceType.TOPIC, "t", operation) for operation in (AclOperation.READ, AclOperation.WRITE)]
    adding = asyncio.create_task(
        asyncio.to_thread(
            kafka_acls, connect, "--add", *arguments_of(theirs[0]), "--operation", theirs[1].entry.operation.pascal_name
        )
    )
    ours: list[AclBinding] = []
    while not adding.done():
        acl = binding(AclResourceType.TOPIC, "t", AclOperation.READ, principal=f"User:{len(ours)}")
        await write(tree, acl)
        ours.append(acl)
        await asyncio.wait({adding}, timeout=0.05)  # Kafka gives up after ten conflicts in a row
    await adding
    assert await tree.read_all() == by_pattern([*theirs, *ours])
