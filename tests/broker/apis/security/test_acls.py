"""Tests of CreateAcls, DescribeAcls and DeleteAcls against a metadata tree."""

import asyncio
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pybroker.base.acl_rules.acl_index import AclIndex
from pybroker.base.acl_rules.authorizer import AclAuthorizer
from pybroker.base.acls import (
    AclBinding,
    AclEntry,
    AclOperation,
    AclPermission,
    AclResourceType,
    PatternType,
    ResourcePattern,
)
from pybroker.broker.apis.security.create_acls import CreateAcls
from pybroker.broker.apis.security.delete_acls import DeleteAcls
from pybroker.broker.apis.security.describe_acls import DescribeAcls
from pybroker.broker.requests.context import CloseConnectionError, Handler
from pybroker.broker.security.acl.acl_administration import AclAdministration
from pybroker.broker.security.acl.acl_filters import AclFilter, EntryFilter, PatternFilter
from pybroker.controller.acl_tree import Acls, AclTree
from pybroker.controller.live_acls import LiveAcls
from pybroker.controller.tree import acl_nodes
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.controller.tree.metadata_store import MetadataStore
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ClusterAuthorizationError, ErrorCode
from pybroker.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from pybroker.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from pybroker.protocol.messages.describe_acls import DescribeAclsRequest
from simulation.machines.model_zookeeper import ModelZooKeeper
from support.acls import PATTERN_TYPES, RESOURCE_TYPES, by_pattern, entries, patterns
from support.examples import examples
from support.in_process.authorized_broker import RecordingAuthorizer
from support.in_process.group_handlers import call, versions
from support.in_process.rights_table import cluster
from support.in_process.virtual_zookeeper import on_virtual_time
from support.time.loop_turns import turns_during

NOW_MS = 1_700_000_000_000
ALLOW_READ = AclEntry("User:a", "*", AclOperation.READ, AclPermission.ALLOW)
EVERYTHING = AclFilter()
LITERALS = AclFilter(PatternFilter(pattern_type=PatternType.LITERAL))
DENY_WRITE = AclEntry("User:*", "10.0.0.1", AclOperation.WRITE, AclPermission.DENY)


async def no_wait() -> None:
    await asyncio.sleep(0)


class Broker:
    """A broker with ACLs. Its clients have the rights ``granted`` on the cluster."""

    def __init__(self, store: MetadataStore) -> None:
        self.tree = AclTree(store, no_wait)
        self.index = AclIndex()
        self.live = LiveAcls(self.tree, self.index.replace, lambda: NOW_MS, is_alone=True)
        self.administration = AclAdministration(self.tree, self.live)
        self.granted = frozenset({AclOperation.ALTER, AclOperation.DESCRIBE})

    async def _call(self, handler: Handler, version: int, request: Message) -> Any:
        denied = {cluster(operation) for operation in (AclOperation.ALTER, AclOperation.DESCRIBE)} - {
            cluster(operation) for operation in self.granted
        }
        return await call(handler, version, request, authorizer=RecordingAuthorizer(denied))

    async def create(self, *creations: AclCreation, version: int = 3) -> list[tuple[ErrorCode, str | None]]:
        handler = CreateAcls(self.administration)
        response = await self._call(handler, version, CreateAclsRequest(creations=list(creations)))
        return [(ErrorCode(result.error_code), result.error_message) for result in response.results]

    async def describe(self, wanted: AclFilter = EVERYTHING, version: int = 3) -> set[AclBinding]:
        handler = DescribeAcls(self.administration)
        request = DescribeAclsRequest(**fields_of(wanted))
        response = await self._call(handler, version, request)
        assert response.error_code == 0
        return {
            AclBinding(
                ResourcePattern(
                    AclResourceType(resource.resource_type), resource.resource_name, PatternType(resource.pattern_type)
                ),
                AclEntry(acl.principal, acl.host, AclOperation(acl.operation), AclPermission(acl.permission_type)),
            )
            for resource in response.resources
            for acl in resource.acls
        }

    async def delete(
        self, *filters: AclFilter, version: int = 3
    ) -> list[tuple[ErrorCode, dict[AclBinding, ErrorCode]]]:
        handler = DeleteAcls(self.administration)
        request = DeleteAclsRequest(filters=[DeleteAclsFilter(**fields_of(wanted)) for wanted in filters])
        response = await self._call(handler, version, request)
        return [
            (
                ErrorCode(result.error_code),
                {
                    AclBinding(
                        ResourcePattern(
                            AclResourceType(acl.resource_type), acl.resource_name, PatternType(acl.pattern_type)
                        ),
                        AclEntry(
                            acl.principal, acl.host, AclOperation(acl.operation), AclPermission(acl.permission_type)
                        ),
                    ): ErrorCode(acl.error_code)
                    for acl in result.matching_acls
                },
            )
            for result in response.filter_results
        ]


def fields_of(wanted: AclFilter) -> dict[str, Any]:
    return {
        "resource_type_filter": wanted.pattern.resource_type,
        "resource_name_filter": wanted.pattern.name,
        "pattern_type_filter": wanted.pattern.pattern_type,
        "principal_filter": wanted.entry.principal,
        "host_filter": wanted.entry.host,
        "operation": wanted.entry.operation,
        "permission_type": wanted.entry.permission,
    }


def creation(binding: AclBinding) -> AclCreation:
    return AclCreation(
        resource_type=binding.pattern.resource_type,
        resource_name=binding.pattern.name,
        resource_pattern_type=binding.pattern.pattern_type,
        principal=binding.entry.principal,
        host=binding.entry.host,
        operation=binding.entry.operation,
        permission_type=binding.entry.permission,
    )


def topic(name: str, entry: AclEntry = ALLOW_READ, pattern_type: PatternType = PatternType.LITERAL) -> AclBinding:
    return AclBinding(ResourcePattern(AclResourceType.TOPIC, name, pattern_type), entry)


def creations(bindings: Iterable[AclBinding]) -> list[AclCreation]:
    return [creation(binding) for binding in bindings]


SUCCESS = (ErrorCode.NONE, "")


@pytest.fixture
async def broker(tmp_path: Path) -> AsyncIterator[Broker]:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: NOW_MS)
    opened = Broker(store)
    await opened.live.load()
    yield opened
    await store.close()


@pytest.mark.parametrize("version", versions(ApiKey.CREATE_ACLS))
async def test_created_acls_are_described_and_deleted(broker: Broker, version: int) -> None:
    types = PATTERN_TYPES if version >= 1 else (PatternType.LITERAL,)
    made = {topic("t", entry, kind) for entry in (ALLOW_READ, DENY_WRITE) for kind in types}
    assert await broker.create(*creations(made), version=version) == [SUCCESS] * len(made)
    wanted = EVERYTHING if version >= 1 else LITERALS
    assert await broker.describe(wanted, version) == made
    assert await broker.delete(wanted, version=version) == [(ErrorCode.NONE, dict.fromkeys(made, ErrorCode.NONE))]
    assert await broker.describe(wanted, version) == set()


async def test_broker_obeys_before_it_answers(broker: Broker) -> None:
    asked = ("User:a", "h", AclOperation.DESCRIBE, AclResourceType.TOPIC, "t")
    authorizer = AclAuthorizer(broker.index)
    assert not authorizer.may(*asked)
    await broker.create(creation(topic("t")))
    assert authorizer.may(*asked)
    await broker.delete(EVERYTHING)
    assert not authorizer.may(*asked)


async def test_old_version_shows_literal_patterns_only(broker: Broker) -> None:
    literal, prefixed = topic("t"), topic("t", pattern_type=PatternType.PREFIXED)
    await broker.create(*creations([literal, prefixed]))
    assert await broker.describe(LITERALS, version=0) == {literal}
    assert await broker.delete(LITERALS, version=0) == [(ErrorCode.NONE, {literal: ErrorCode.NONE})]
    assert await broker.describe() == {prefixed}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"resource_type": AclResourceType.CLUSTER}, "The only valid name for the CLUSTER resource is kafka-cluster"),
        ({"resource_name": ""}, "Invalid empty resource name"),
        ({"resource_name": "a/b"}, "Failed to create ACL"),
        ({"resource_name": ".."}, "Failed to create ACL"),
        ({"principal": "alice"}, "Failed to create ACL"),
        ({"resource_type": AclResourceType.ANY}, "Failed to create ACL"),
        ({"resource_type": 99}, "Failed to create ACL"),
        ({"resource_pattern_type": PatternType.MATCH}, "Failed to create ACL"),
        ({"resource_pattern_type": PatternType.ANY}, "Failed to create ACL"),
        ({"operation": AclOperation.ANY}, "Failed to create ACL"),
        ({"operation": -1}, "Failed to create ACL"),
        ({"permission_type": AclPermission.ANY}, "Failed to create ACL"),
        ({"permission_type": 4}, "Failed to create ACL"),
    ],
)
async def test_invalid_acl_is_refused_and_the_others_are_created(
    changed: dict[str, object], message: str, broker: Broker
) -> None:
    invalid = creation(topic("t"))
    for name, value in changed.items():
        setattr(invalid, name, value)
    assert await broker.create(invalid, creation(topic("u"))) == [(ErrorCode.INVALID_REQUEST, message), SUCCESS]
    assert await broker.describe() == {topic("u")}


async def test_acl_that_exists_is_created_again_with_success(broker: Broker) -> None:
    for _ in range(2):
        assert await broker.create(*creations([topic("t"), topic("t")])) == [SUCCESS] * 2
    assert await broker.describe() == {topic("t")}
    assert len(await broker.tree.notifications("/kafka-acl-changes")) == 1


@pytest.mark.parametrize("field", ["resource_type", "resource_pattern_type", "operation", "permission_type"])
async def test_connection_is_closed_when_a_field_is_of_the_type_unknown(field: str, broker: Broker) -> None:
    unknown = creation(topic("t"))
    setattr(unknown, field, 0)
    with pytest.raises(CloseConnectionError):
        await broker.create(unknown)
    unknown_filter = AclFilter(PatternFilter(AclResourceType.UNKNOWN))
    with pytest.raises(CloseConnectionError):
        await broker.describe(unknown_filter)
    with pytest.raises(CloseConnectionError):
        await broker.delete(unknown_filter)


@pytest.mark.parametrize("granted", [None, AclOperation.DESCRIBE, AclOperation.ALTER])
async def test_client_needs_alter_to_change_and_describe_to_see_acls(
    granted: AclOperation | None, broker: Broker
) -> None:
    await broker.create(creation(topic("t")))
    broker.granted = frozenset({granted} if granted is not None else ())
    if granted is AclOperation.DESCRIBE:
        assert await broker.describe() == {topic("t")}
    else:
        with pytest.raises(ClusterAuthorizationError):
            await broker.describe()
    if granted is not AclOperation.ALTER:
        with pytest.raises(ClusterAuthorizationError):
            await broker.create(creation(topic("u")))
        with pytest.raises(ClusterAuthorizationError):
            await broker.delete(EVERYTHING)
        assert broker.live.acls == {topic("t").pattern: {ALLOW_READ}}


async def test_deleted_acl_belongs_to_the_first_filter_that_matches(broker: Broker) -> None:
    one, other, kept = topic("t"), topic("t", DENY_WRITE), topic("u", DENY_WRITE)
    await broker.create(*creations([one, other, kept]))
    deleted = await broker.delete(
        AclFilter(entry=EntryFilter(operation=AclOperation.READ)),
        AclFilter(PatternFilter(AclResourceType.TOPIC, "t", PatternType.MATCH)),
        AclFilter(PatternFilter(AclResourceType.GROUP)),
    )
    assert deleted == [
        (ErrorCode.NONE, {one: ErrorCode.NONE}),
        (ErrorCode.NONE, {other: ErrorCode.NONE}),
        (ErrorCode.NONE, {}),
    ]
    assert await broker.describe() == {kept}


@pytest.mark.parametrize("pattern_type", [PatternType.ANY, PatternType.LITERAL])
async def test_filter_that_names_a_pattern_finds_acls_not_in_force_here_yet(
    pattern_type: PatternType, broker: Broker
) -> None:
    await broker.tree.update(topic("t").pattern, lambda _: frozenset({ALLOW_READ}))  # by another broker
    assert await broker.delete(AclFilter(PatternFilter(AclResourceType.TOPIC, "t", PatternType.MATCH))) == [
        (ErrorCode.NONE, {})
    ]
    assert await broker.delete(AclFilter(PatternFilter(AclResourceType.TOPIC, "t", pattern_type))) == [
        (ErrorCode.NONE, {topic("t"): ErrorCode.NONE})
    ]


@pytest.mark.parametrize("name", ["", "a/b", ".", "𝄞"])
async def test_filter_with_a_name_that_no_node_can_have_matches_nothing(name: str, broker: Broker) -> None:
    wanted = AclFilter(PatternFilter(AclResourceType.TOPIC, name, PatternType.LITERAL))
    assert await broker.delete(wanted) == [(ErrorCode.NONE, {})]
    assert await broker.describe(wanted) == set()


async def test_undecodable_node_is_reported_and_stays(broker: Broker) -> None:
    path = acl_nodes.acl_path(topic("t").pattern)
    await broker.tree.store.create(path, b"{")
    assert await broker.create(*creations([topic("t"), topic("u")])) == [
        (ErrorCode.UNKNOWN_SERVER_ERROR, None),
        SUCCESS,
    ]
    (code, deleted), other = await broker.delete(
        AclFilter(PatternFilter(AclResourceType.TOPIC, "t")), AclFilter(PatternFilter(AclResourceType.TOPIC, "u"))
    )
    assert ErrorCode.UNKNOWN_SERVER_ERROR in {code, *deleted.values()}
    assert other == (ErrorCode.NONE, {topic("u"): ErrorCode.NONE})
    assert (await broker.tree.store.get(path))[0] == b"{"


async def test_acls_that_could_not_be_deleted_are_listed_with_the_error(broker: Broker) -> None:
    await broker.create(creation(topic("t")))
    await broker.tree.store.set(acl_nodes.acl_path(topic("t").pattern), b"{")
    assert await broker.delete(EVERYTHING) == [(ErrorCode.NONE, {topic("t"): ErrorCode.UNKNOWN_SERVER_ERROR})]
    assert await broker.describe() == {topic("t")}


async def test_large_requests_yield_to_other_tasks(broker: Broker) -> None:
    await broker.create(*creations(topic(f"t{number}") for number in range(300)))
    filters = [
        AclFilter(PatternFilter(AclResourceType.GROUP, f"g{number}", PatternType.MATCH)) for number in range(100)
    ]
    assert await turns_during(broker.delete(*filters)) >= 30
    assert await turns_during(broker.describe()) >= 7


async def test_acls_of_a_large_request_come_into_force_in_small_steps(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes = []

    def noted(changed: Acls) -> None:
        sizes.append(len(changed))
        broker.index.replace(changed)

    monkeypatch.setattr(broker.live, "_take", noted)
    await broker.create(*creations(topic(f"t{number}") for number in range(300)))
    await broker.delete(EVERYTHING)
    assert sum(sizes) == 600
    assert max(sizes) <= 100


STORED_ENTRIES = entries.filter(lambda entry: 0 not in (entry.operation, entry.permission))
FILTERS = st.builds(
    AclFilter,
    st.builds(
        PatternFilter,
        st.sampled_from((AclResourceType.ANY, *RESOURCE_TYPES)),
        st.sampled_from((None, "a", "abc", "*")),
        st.sampled_from((PatternType.ANY, PatternType.MATCH, *PATTERN_TYPES)),
    ),
    st.builds(
        EntryFilter,
        st.sampled_from((None, "User:a")),
        st.sampled_from((None, "*")),
        st.sampled_from((AclOperation.ANY, AclOperation.READ)),
        st.sampled_from((AclPermission.ANY, AclPermission.DENY)),
    ),
)
STEPS = st.lists(
    st.one_of(
        st.lists(st.builds(AclBinding, patterns, STORED_ENTRIES), min_size=1, max_size=6).map(tuple),
        st.lists(FILTERS, min_size=1, max_size=2),
    ),
    max_size=8,
)


@settings(max_examples=examples(30))
@given(STEPS)
def test_acls_are_those_of_a_set_with_filters(steps: list[tuple[AclBinding, ...] | list[AclFilter]]) -> None:
    async def scenario(zookeeper: ModelZooKeeper) -> None:
        broker = Broker(await zookeeper.open())
        await broker.live.load()
        model: set[AclBinding] = set()
        for step in steps:
            if isinstance(step, tuple):
                await broker.create(*creations(acl for acl in step if acl.pattern.name != "ä𝄞"))
                model |= {acl for acl in step if acl.pattern.name != "ä𝄞"}
            else:
                deleted = await broker.delete(*step)
                for wanted, (code, gone) in zip(step, deleted, strict=True):
                    assert (code, set(gone)) == (0, {acl for acl in model if wanted.matches(acl)})
                    model -= set(gone)
            assert await broker.describe() == model
            assert await broker.tree.read_all() == by_pattern(model)

    on_virtual_time(scenario)
