"""DescribeConfigs, AlterConfigs and IncrementalAlterConfigs in every version."""

import logging
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from pybroker.base.yielding import ITEMS_BETWEEN_YIELDS
from pybroker.broker.apis.configs.alter_configs import AlterConfigs
from pybroker.broker.apis.configs.describe_configs import DescribeConfigs
from pybroker.broker.apis.configs.incremental_alter_configs import IncrementalAlterConfigs
from pybroker.broker.requests.duplicate_names import MAX_DUPLICATES
from pybroker.broker.settings.altered_config import AlteredConfig
from pybroker.broker.settings.dynamic_config import DynamicConfig
from pybroker.broker.settings.group_configs import GroupConfigs
from pybroker.broker.settings.loggers import LoggerLevels
from pybroker.config.dynamic_layers import DynamicLayers
from pybroker.config.load import load_config
from pybroker.controller.topics.settings_limit import SettingsLimit
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode, InvalidRequestError
from pybroker.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from support.clients.config_requests import (
    APPEND,
    BROKER,
    DEFAULT,
    DELETE,
    LOGGER,
    OF_ALL_BROKERS,
    OF_BROKER,
    OF_FILE,
    OF_LOGGER,
    OF_TOPIC,
    SET,
    TOPIC,
    Change,
    Resource,
    alter,
    describe,
    layers,
    replace,
)
from support.in_process.group_handlers import call, versions
from support.time.loop_turns import turns_during

THE_TOPIC, THIS_BROKER, ALL_BROKERS = Resource(TOPIC, "t"), Resource(BROKER, "1"), Resource(BROKER, "")
LOGGERS = Resource(LOGGER, "1")
DESCRIBE = versions(ApiKey.DESCRIBE_CONFIGS)


class Handlers:
    def __init__(self, tree: ClusterTree) -> None:
        self.tree = tree
        loggers = LoggerLevels(logging.Manager(logging.RootLogger(logging.INFO)))
        self.dynamic = DynamicConfig(load_config("message.max.bytes=3000\nbroker.rack=here"))

        def exists(topic: str) -> bool:
            return topic == "t"

        altered = AlteredConfig(
            1,
            tree,
            self.dynamic,
            topic_exists=exists,
            loggers=loggers,
            settings_limit=SettingsLimit(1 << 30, lambda: 0),
            caught_up=self.caught_up,
            has_groups=lambda: self.has_groups,
        )
        self.groups = GroupConfigs(self.dynamic.config)
        self.has_groups = True
        self.describe = DescribeConfigs(
            1, tree, self.dynamic, exists, loggers, lambda group: self.groups(group), lambda: self.has_groups
        )
        self.replace = AlterConfigs(altered)
        self.alter = IncrementalAlterConfigs(altered)

    async def caught_up(self) -> None:
        cluster_wide = await self.tree.config("brokers", "<default>")
        self.dynamic.load(DynamicLayers(cluster_wide, await self.tree.config("brokers", "1")))
        self.groups = GroupConfigs(self.dynamic.config)
        await self.groups.load(self.tree)

    async def entries(
        self, version: int, resource: Resource, *names: str
    ) -> Mapping[str, DescribeConfigsResourceResult]:
        request = describe(resource, *names, synonyms=version > 0, documentation=version > 2)
        response: DescribeConfigsResponse = await call(self.describe, version, request)
        (result,) = response.results
        assert (result.error_code, result.error_message) == (0, "")
        return {entry.name: entry for entry in result.configs}

    async def failure(self, version: int, resource: Resource) -> DescribeConfigsResult:
        response: DescribeConfigsResponse = await call(self.describe, version, describe(resource))
        (result,) = response.results
        assert result.error_message
        assert (result.resource_type, result.resource_name, result.configs) == (*resource, [])
        return result


@pytest.fixture
async def handlers(tmp_path: Path) -> AsyncIterator[Handlers]:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1_700_000_000_000)
    tree = ClusterTree(store)
    await tree.create_persistent_paths()
    yield Handlers(tree)
    await store.close()


@pytest.mark.parametrize("version", DESCRIBE)
async def test_described_values_have_the_fields_of_their_version(handlers: Handlers, version: int) -> None:
    await call(handlers.alter, 1, alter((THE_TOPIC, [Change("retention.ms", SET, " 5 ")])))
    entries = await handlers.entries(version, THE_TOPIC)
    shown = {name: entries[name].value for name in ("retention.ms", "max.message.bytes", "segment.bytes")}
    assert shown == {"retention.ms": "5", "max.message.bytes": "3000", "segment.bytes": "1073741824"}
    if version == 0:
        assert [entries[name].is_default for name in shown] == [False, False, True]
    else:
        assert [entries[name].config_source for name in shown] == [OF_TOPIC, OF_FILE, DEFAULT]
        assert layers(entries["retention.ms"]) == [("retention.ms", "5", OF_TOPIC)]
    documented = bool(entries["retention.ms"].documentation)
    assert (documented, entries["retention.ms"].config_type) == ((True, 5) if version > 2 else (False, 0))


async def test_describe_configs_describes_a_resource_named_very_often_once(handlers: Handlers) -> None:
    async def ask(*wanted: tuple[Resource, list[str] | None]) -> list[tuple[str, set[str]]]:
        resources = [
            DescribeConfigsResource(resource_type=resource.type, resource_name=resource.name, configuration_keys=names)
            for resource, names in wanted
        ]
        response = await call(handlers.describe, 4, DescribeConfigsRequest(resources=resources))
        return [(result.resource_name, {entry.name for entry in result.configs}) for result in response.results]

    one, other = ["message.max.bytes"], ["broker.rack"]
    assert await ask((THIS_BROKER, one), (THIS_BROKER, other)) == [("1", {*one}), ("1", {*other})]
    often = [(THIS_BROKER, one)] * MAX_DUPLICATES
    assert await ask(*often, (THIS_BROKER, other)) == [("1", {*one, *other})]
    assert await ask((THIS_BROKER, one), (THE_TOPIC, ["retention.ms"])) == [("1", {*one}), ("t", {"retention.ms"})]
    ((_, every),) = await ask(*often, (THIS_BROKER, None), (THIS_BROKER, one))
    assert len(every) > 100


async def test_synonyms_and_documentation_are_described_on_request_only(handlers: Handlers) -> None:
    response = await call(handlers.describe, 4, describe(THIS_BROKER, "message.max.bytes"))
    (entry,) = response.results[0].configs
    assert (entry.synonyms, entry.documentation, entry.config_source) == ([], None, OF_FILE)


@pytest.mark.parametrize("version", DESCRIBE)
async def test_describe_configs_describes_brokers_and_loggers(handlers: Handlers, version: int) -> None:
    await call(handlers.alter, 1, alter((ALL_BROKERS, [Change("log.segment.bytes", SET, "9000")])))
    await call(handlers.alter, 1, alter((THIS_BROKER, [Change("log.segment.bytes", SET, "8000")])))
    names = ("log.segment.bytes", "broker.rack", "ssl.key.password")
    entries = await handlers.entries(version, THIS_BROKER, *names, "no.such.setting")
    assert [entries[name].value for name in names] == ["8000", "here", None]
    assert [entries[name].read_only for name in names] == [False, True, False]
    assert [entries[name].is_sensitive for name in names] == [False, False, True]
    assert len(entries) == 3
    for_all = await handlers.entries(version, ALL_BROKERS)
    assert {name: entry.value for name, entry in for_all.items()} == {"log.segment.bytes": "9000"}
    levels = await handlers.entries(version, LOGGERS)
    assert {name: entry.value for name, entry in levels.items()} == {"root": "INFO"}
    assert levels["root"].documentation == ""
    if version > 0:
        sources = [entry.config_source for entry in (entries["log.segment.bytes"], *for_all.values(), levels["root"])]
        assert sources == [OF_BROKER, OF_ALL_BROKERS, OF_LOGGER]


async def test_describe_configs_skips_stored_topic_settings_that_are_unknown_or_invalid(handlers: Handlers) -> None:
    stored = {"retention.ms": "5", "of.kafka.5": "x", "segment.bytes": "tiny"}
    await handlers.tree.change_config("topics", "t", lambda _stored: stored)
    entries = await handlers.entries(4, THE_TOPIC)
    assert (entries["retention.ms"].value, entries["segment.bytes"].config_source) == ("5", DEFAULT)
    assert "of.kafka.5" not in entries


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (Resource(TOPIC, "nowhere"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Resource(TOPIC, "no/name"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (Resource(BROKER, "2"), ErrorCode.INVALID_REQUEST),
        (Resource(BROKER, " 1"), ErrorCode.INVALID_REQUEST),
        (Resource(LOGGER, ""), ErrorCode.INVALID_REQUEST),
        (Resource(16, "metrics"), ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
async def test_a_resource_that_cannot_be_described_gets_an_error_beside_the_others(
    handlers: Handlers, resource: Resource, expected: ErrorCode
) -> None:
    assert (await handlers.failure(4, resource)).error_code == expected
    both = describe(resource)
    both.resources.append(describe(THE_TOPIC, "retention.ms").resources[0])
    response = await call(handlers.describe, 4, both)
    assert [(result.error_code, len(result.configs)) for result in response.results] == [(expected, 0), (0, 1)]


async def test_describe_configs_with_an_unknown_resource_type_fails_as_a_whole(handlers: Handlers) -> None:
    with pytest.raises(InvalidRequestError, match="type 77"):
        await call(handlers.describe, 4, describe(Resource(77, "x")))


@pytest.mark.parametrize("version", versions(ApiKey.INCREMENTAL_ALTER_CONFIGS))
async def test_incremental_alter_configs_changes_single_settings(handlers: Handlers, version: int) -> None:
    wishes = alter(
        (THE_TOPIC, [Change("retention.ms", SET, "5"), Change("segment.bytes", DELETE, None)]),
        (THIS_BROKER, [Change("log.segment.bytes", SET, "tiny")]),
        (LOGGERS, [Change("root", SET, "DEBUG")]),
    )
    response = await call(handlers.alter, version, wishes)
    outcomes = [(one.error_code, bool(one.error_message), one.resource_name) for one in response.responses]
    assert outcomes == [(0, False, "t"), (ErrorCode.INVALID_REQUEST, True, "1"), (0, False, "1")]
    assert await handlers.tree.config("topics", "t") == {"retention.ms": "5"}
    assert (await handlers.entries(4, LOGGERS))["root"].value == "DEBUG"


@pytest.mark.parametrize("version", versions(ApiKey.ALTER_CONFIGS))
async def test_alter_configs_replaces_all_settings(handlers: Handlers, version: int) -> None:
    await call(handlers.alter, 1, alter((THE_TOPIC, [Change("retention.ms", SET, "5")])))
    wishes = replace((THE_TOPIC, {"segment.bytes": "2000"}), (LOGGERS, {"root": "INFO"}))
    response = await call(handlers.replace, version, wishes)
    assert [one.error_code for one in response.responses] == [0, ErrorCode.INVALID_REQUEST]
    assert await handlers.tree.config("topics", "t") == {"segment.bytes": "2000"}


async def test_a_resource_or_setting_named_twice_is_not_altered_but_the_others_are(handlers: Handlers) -> None:
    once = {"log.segment.bytes": "2000"}
    response = await call(handlers.replace, 2, replace((THIS_BROKER, once), (ALL_BROKERS, once), (THIS_BROKER, {})))
    assert [one.error_code for one in response.responses] == [42, 0, 42]
    assert list(await handlers.tree.configs("brokers")) == ["<default>"]
    twice = [Change("retention.ms", SET, "1"), Change("retention.ms", SET, "1")]
    response = await call(handlers.alter, 1, alter((THE_TOPIC, twice)))
    assert response.responses[0].error_code == ErrorCode.INVALID_REQUEST


async def test_a_null_value_is_refused_as_invalid(handlers: Handlers) -> None:
    nulls = [Change("retention.ms", SET, None), Change("flush.ms", DELETE, None), Change("segment.ms", SET, None)]
    (response,) = (await call(handlers.alter, 1, alter((THE_TOPIC, nulls)))).responses
    assert response.error_code == ErrorCode.INVALID_REQUEST
    assert response.error_message.endswith("retention.ms, segment.ms.")
    (response,) = (await call(handlers.replace, 2, replace((THE_TOPIC, {"retention.ms": None})))).responses
    assert response.error_code == ErrorCode.INVALID_REQUEST


async def test_validate_only_writes_no_setting(handlers: Handlers) -> None:
    for request, handler in (
        (alter((THE_TOPIC, [Change("retention.ms", SET, "5")]), validate_only=True), handlers.alter),
        (replace((THE_TOPIC, {"retention.ms": "5"}), validate_only=True), handlers.replace),
    ):
        assert (await call(handler, 1, request)).responses[0].error_code == 0
    assert await handlers.tree.config("topics", "t") == {}


@pytest.mark.parametrize("api", ["describe", "alter", "replace"])
async def test_event_loop_stays_free_while_very_many_config_resources_are_refused(handlers: Handlers, api: str) -> None:
    unknown = [Resource(TOPIC, f"unknown{number}") for number in range(10 * ITEMS_BETWEEN_YIELDS)]
    requests = {
        "describe": DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=each.type, resource_name=each.name, configuration_keys=None)
                for each in unknown
            ]
        ),
        "alter": alter(*((each, [Change("retention.ms", SET, "5")]) for each in unknown)),
        "replace": replace(*((each, {"retention.ms": "5"}) for each in unknown)),
    }
    assert await turns_during(call(getattr(handlers, api), 1, requests[api])) > 10


# -- settings of groups

GROUP, OF_GROUP = 32, 8
SESSION, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"


async def change_group(handlers: Handlers, group: str, *changes: Change) -> ErrorCode:
    response = await call(handlers.alter, 1, alter((Resource(GROUP, group), changes)))
    return ErrorCode(response.responses[0].error_code)


async def test_settings_of_a_group_are_described_with_the_groups_own_value_first(handlers: Handlers) -> None:
    assert await change_group(handlers, "a/b", Change(SESSION, SET, "50000")) is ErrorCode.NONE
    described = await handlers.entries(4, Resource(GROUP, "a/b"))
    session, interval = described[SESSION], described[INTERVAL]
    assert (session.value, session.config_source, layers(session)) == (
        "50000",
        OF_GROUP,
        [(SESSION, "50000", OF_GROUP)],
    )
    assert (interval.value, interval.config_source, interval.read_only) == ("5000", DEFAULT, False)
    assert described["share.auto.offset.reset"].value == "latest"
    assert (await handlers.entries(4, Resource(GROUP, "other")))[SESSION].value == "45000"


async def test_group_without_settings_of_its_own_has_no_node(handlers: Handlers) -> None:
    await change_group(handlers, "g", Change(SESSION, SET, "50000"))
    assert handlers.groups("g").int(SESSION) == 50_000
    assert await change_group(handlers, "g", Change(SESSION, DELETE)) is ErrorCode.NONE
    assert await handlers.tree.store.children("/config/groups") == []
    assert handlers.groups("g").int(SESSION) == 45_000


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ([Change(SESSION, SET, "44999")], ErrorCode.INVALID_CONFIG),
        ([Change(SESSION, SET, "60001")], ErrorCode.INVALID_CONFIG),
        ([Change(INTERVAL, SET, "15001")], ErrorCode.INVALID_CONFIG),
        ([Change("session.timeout.ms", SET, "50000")], ErrorCode.INVALID_CONFIG),
        ([Change("share.auto.offset.reset", SET, "by_duration:1h")], ErrorCode.INVALID_CONFIG),
        ([Change("share.isolation.level", SET, "none")], ErrorCode.INVALID_CONFIG),
        ([Change(SESSION, APPEND, "50000")], ErrorCode.INVALID_CONFIG),
        ([Change("share.auto.offset.reset", SET, "by_duration:PT1H")], ErrorCode.NONE),
    ],
)
async def test_settings_of_a_group_are_checked_by_the_brokers_bounds(
    handlers: Handlers, changes: list[Change], code: ErrorCode
) -> None:
    assert await change_group(handlers, "g", *changes) is code


@pytest.mark.parametrize("group", ["", ".", ".."])
async def test_group_that_can_have_no_node_has_no_settings(handlers: Handlers, group: str) -> None:
    assert await change_group(handlers, group, Change(SESSION, SET, "50000")) is ErrorCode.INVALID_REQUEST


async def test_groups_have_no_settings_where_the_consumer_protocol_is_not_served(handlers: Handlers) -> None:
    handlers.has_groups = False
    assert await change_group(handlers, "g", Change(SESSION, SET, "50000")) is ErrorCode.INVALID_REQUEST
    with pytest.raises(InvalidRequestError):
        await call(handlers.describe, 4, describe(Resource(GROUP, "g")))
