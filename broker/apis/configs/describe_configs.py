"""DescribeConfigs (KIP-133): the settings of topics, brokers, loggers and groups, and the source of each value.

- Any broker describes topics and groups. A broker describes its own settings, and those of all brokers (no name).
- Passwords, and values of settings that this broker does not know, are null.

v0 whether a value is the default · v1 its source, and synonyms on request (KIP-226) · v3 types, and documentation on
request (KIP-569) · v4 flexible.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import TypeAlias

from ....base.acls import AclOperation
from ....base.yielding import with_yields
from ....config.config import Config
from ....config.config_entries import (
    ConfigEntry,
    ConfigSource,
    ConfigType,
    broker_entries,
    cluster_entries,
    group_entries,
    topic_entries,
)
from ....config.group_config import GroupConfig
from ....config.topic_config import TopicConfig, usable_overrides
from ....controller.topics.topic_names import check_topic_name
from ....controller.tree.cluster_tree import ClusterTree
from ....protocol.errors import InvalidRequestError, KafkaError, UnknownTopicOrPartitionError
from ....protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)
from ...requests.context import RequestContext
from ...requests.duplicate_names import has_many_duplicates
from ...settings.altered_config import ResourceType, broker_id_of
from ...settings.dynamic_config import DynamicConfig
from ...settings.loggers import LoggerLevels
from .altered_resources import require_right

__all__ = ["DescribeConfigs"]

_SERVED: tuple[int, ...] = (
    ResourceType.TOPIC,
    ResourceType.BROKER,
    ResourceType.BROKER_LOGGER,
    ResourceType.CLIENT_METRICS,
)


ResourceKey = tuple[int, str]
Show: TypeAlias = Callable[[ConfigEntry], DescribeConfigsResourceResult]


class DescribeConfigs:
    """Handles DescribeConfigs requests."""

    def __init__(
        self,
        broker_id: int,
        tree: ClusterTree,
        dynamic: DynamicConfig,
        topic_exists: Callable[[str], bool],
        loggers: LoggerLevels,
        groups: Callable[[str], GroupConfig],
        has_groups: Callable[[], bool],
    ) -> None:
        """``has_groups``: whether groups have settings now."""
        self._broker_id = broker_id
        self._tree = tree
        self._dynamic = dynamic
        self._topic_exists = topic_exists
        self._loggers = loggers
        self._groups = groups
        self._has_groups = has_groups

    async def __call__(self, context: RequestContext, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        served = (*_SERVED, ResourceType.GROUP) if self._has_groups() else _SERVED
        for resource in request.resources:
            if resource.resource_type not in served:
                raise InvalidRequestError(f"Resources of type {resource.resource_type} have no settings here.")
        show = cache(partial(_shown, context.api_version, request.include_synonyms, request.include_documentation))
        topics = _TopicSettings(self._dynamic.config, show)
        return DescribeConfigsResponse(
            results=[
                await self._describe(context, *resource, wanted, show, topics)
                async for resource, wanted in with_yields(_wanted(request.resources))
            ]
        )

    async def _describe(
        self,
        context: RequestContext,
        resource_type: int,
        name: str,
        wanted: frozenset[str],
        show: Show,
        topics: "_TopicSettings",
    ) -> DescribeConfigsResult:
        result = DescribeConfigsResult(resource_type=resource_type, resource_name=name)
        try:
            require_right(context, AclOperation.DESCRIBE_CONFIGS, result)
            if resource_type == ResourceType.TOPIC:
                check_topic_name(name)
                if not self._topic_exists(name):
                    raise UnknownTopicOrPartitionError(f"There is no topic '{name}'.")
                result.configs = topics.shown(await self._tree.config("topics", name), wanted)
            else:
                entries = self._entries(resource_type, name)
                result.configs = [show(entry) for entry in entries if not wanted or entry.name in wanted]
        except KafkaError as error:
            result.error_code = error.code
            result.error_message = str(error)
        return result

    def _entries(self, resource_type: int, name: str) -> Iterable[ConfigEntry]:
        config = self._dynamic.config
        match resource_type:
            case ResourceType.BROKER:
                if not name:
                    return cluster_entries(config)
                self._require_this_broker(name)
                return broker_entries(config)
            case ResourceType.BROKER_LOGGER:
                self._require_this_broker(name)
                return [_logger_entry(logger, level) for logger, level in self._loggers.levels().items()]
            case ResourceType.GROUP:
                if not name:
                    raise InvalidRequestError("The id of a group is missing.")
                return group_entries(self._groups(name))
            case _:
                raise InvalidRequestError("Subscriptions of client metrics are served in KRaft mode only.")

    def _require_this_broker(self, name: str) -> None:
        if broker_id_of(name) != self._broker_id:
            raise InvalidRequestError(f"This is broker {self._broker_id}. Ask broker {name} for its settings.")


class _TopicSettings:
    """The shown settings of topics in one response. Most topics have the same settings, and there may be very many."""

    def __init__(self, config: Config, show: Show) -> None:
        self._config = config
        self._show = show
        self._known: dict[tuple[frozenset[tuple[str, str]], frozenset[str]], list[DescribeConfigsResourceResult]] = {}

    def shown(self, stored: Mapping[str, str], wanted: frozenset[str]) -> list[DescribeConfigsResourceResult]:
        """``stored``: the topic's own settings. ``wanted``: names; empty: all."""
        key = frozenset(stored.items()), wanted
        known = self._known.get(key)
        if known is None:
            settings, _ = usable_overrides(stored)
            entries = topic_entries(self._config, TopicConfig.in_force(self._config, settings))
            known = [self._show(entry) for entry in entries if not wanted or entry.name in wanted]
            self._known[key] = known
        return known


def _wanted(resources: Sequence[DescribeConfigsResource]) -> Iterable[tuple[ResourceKey, frozenset[str]]]:
    """Type and name of each resource with the names of the requested settings (empty: all).

    A repetitive request yields each resource once, because a broker's settings take a thousand times the bytes of its
    name."""
    named = [((each.resource_type, each.resource_name), frozenset(each.configuration_keys or ())) for each in resources]
    if not has_many_duplicates(resource for resource, _ in named):
        return named
    wanted: dict[ResourceKey, frozenset[str]] = {}
    for resource, keys in named:
        before = wanted.get(resource)
        wanted[resource] = keys if before is None else before | keys if before and keys else frozenset()
    return wanted.items()


def _shown(
    version: int, with_synonyms: bool, with_documentation: bool, entry: ConfigEntry
) -> DescribeConfigsResourceResult:
    synonyms = entry.synonyms if with_synonyms else ()
    return DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        is_default=version == 0 and entry.source is ConfigSource.DEFAULT_CONFIG,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=[DescribeConfigsSynonym(name=one.name, value=one.value, source=one.source) for one in synonyms],
        config_type=entry.type,
        # As in Kafka, a logger has an empty documentation, also when it was not requested.
        documentation=entry.documentation if with_documentation or entry.documentation == "" else None,
    )


def _logger_entry(name: str, level: str) -> ConfigEntry:
    return ConfigEntry(name, level, ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG, False, False, ConfigType.UNKNOWN, "", ())
