"""Changes settings for clients: checks, writes the metadata, waits for the effect (Kafka's ConfigAdminManager).

Any broker accepts changes for topics and for all brokers; only the broker itself accepts changes for one broker.
"""

import logging
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from ...config.config import HIDDEN, base_setting
from ...config.config_error import ConfigError
from ...config.dynamic_changes import usable
from ...config.group_config import checked_overrides
from ...config.notices import topic_notices
from ...config.setting import Setting
from ...config.table import BROKER_SETTINGS, DYNAMIC_ONLY_SETTINGS, GROUP_SETTINGS, TOPIC_SETTINGS
from ...config.topic_config import TopicConfig
from ...config.values import ValueType, split_list
from ...controller.topics.settings_limit import SettingsLimit, check_broker_settings
from ...controller.tree.cluster_tree import ClusterTree
from ...controller.tree.entity_names import can_be_node, encode_entity_name
from ...controller.tree.group_nodes import GROUPS, change_group_settings
from ...protocol.errors import InvalidConfigurationError, InvalidRequestError, UnknownTopicOrPartitionError
from .dynamic_config import DynamicConfig
from .group_configs import size_of
from .loggers import LEVELS, ROOT, LoggerLevels

__all__ = [
    "ALL_BROKERS",
    "AlteredConfig",
    "Operation",
    "OperationType",
    "ResourceType",
    "broker_id_of",
]

logger = logging.getLogger(__name__)

ALL_BROKERS = "<default>"
"""The name in the tree for all brokers; clients send an empty name."""
_LONGEST_TEXT = 32_767
"""The longest value in bytes, because a longer one could not be sent in a response."""
_WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,10}")


class ResourceType(IntEnum):
    """Kafka's ``ConfigResource.Type``."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class OperationType(IntEnum):
    """Kafka's ``AlterConfigOp.OpType``: the operations of IncrementalAlterConfigs."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Operation(NamedTuple):
    """``type`` is a number, perhaps of no `OperationType`; ``value`` is None or "" for DELETE."""

    name: str
    type: int
    value: str | None


_OPERATION_TYPES = frozenset(int(operation_type) for operation_type in OperationType)
Change = Callable[[Mapping[str, str]], Mapping[str, str]]


class AlteredConfig:
    """Methods return when the change is in force on this broker, and raise `KafkaError`:

    UnknownTopicOrPartitionError; InvalidRequestError for malformed requests and for bad settings of brokers;
    InvalidConfigurationError for bad settings of topics, groups and loggers; PolicyViolationError for exceeded limits.
    """

    def __init__(
        self,
        broker_id: int,
        tree: ClusterTree,
        dynamic: DynamicConfig,
        *,
        topic_exists: Callable[[str], bool],
        loggers: LoggerLevels,
        settings_limit: SettingsLimit,
        caught_up: Callable[[], Awaitable[None]],
        has_groups: Callable[[], bool],
    ) -> None:
        """``caught_up`` waits until settings written into the tree are in force on this broker.

        ``has_groups``: whether groups have settings now.
        """
        self._broker_id = broker_id
        self._tree = tree
        self._dynamic = dynamic
        self._topic_exists = topic_exists
        self._loggers = loggers
        self._settings_limit = settings_limit
        self._caught_up = caught_up
        self._has_groups = has_groups

    def check_resource(self, resource_type: int, name: str, *, is_replaced: bool) -> None:
        """Raises InvalidRequestError for a resource that this broker has no settings of, whatever the client may do.

        ``is_replaced``: all settings at once, which loggers do not support.
        """
        if resource_type == ResourceType.BROKER and name:
            self._require_this_broker(name)
        elif resource_type == ResourceType.CLIENT_METRICS:
            raise InvalidRequestError("Subscriptions of client metrics are served in KRaft mode only.")
        elif is_replaced and resource_type == ResourceType.BROKER_LOGGER:
            raise InvalidRequestError("Levels of loggers are altered by IncrementalAlterConfigs only.")
        elif resource_type == ResourceType.GROUP and self._has_groups():
            return
        elif resource_type not in (ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER):
            raise InvalidRequestError(f"Settings of resources of type {resource_type} cannot be altered.")

    async def replace(self, resource_type: int, name: str, settings: Mapping[str, str], *, validate_only: bool) -> None:
        """Replace all settings of a resource that `check_resource` accepts."""
        await self._change(resource_type, name, lambda _stored: settings, list(settings), validate_only=validate_only)

    async def alter(
        self, resource_type: int, name: str, operations: Sequence[Operation], *, validate_only: bool
    ) -> None:
        """Change single settings by operations, in order."""
        for operation in operations:
            if operation.type not in _OPERATION_TYPES:
                raise InvalidRequestError(f"{operation.name}: there is no operation {operation.type}.")
        if resource_type == ResourceType.BROKER_LOGGER:
            self._alter_loggers(name, operations, validate_only=validate_only)
            return
        settings = _SETTINGS_OF.get(resource_type, _broker_setting)
        await self._change(
            resource_type,
            name,
            lambda stored: _altered(stored, operations, settings),
            [operation.name for operation in operations],
            validate_only=validate_only,
        )

    async def _change(
        self, resource_type: int, name: str, change: Change, named: Sequence[str], *, validate_only: bool
    ) -> None:
        match resource_type:
            case ResourceType.TOPIC:
                self._require_topic(name)
                await self._change_topic(name, change, validate_only)
            case ResourceType.BROKER:
                per_broker = bool(name)
                entity = str(self._require_this_broker(name)) if per_broker else ALL_BROKERS

                def checked(stored: Mapping[str, str]) -> Mapping[str, str]:
                    good, _ = usable(self._dynamic.passwords.decoded(stored), per_broker=per_broker)
                    settings = change(good)
                    most = self._dynamic.config.int("pybroker.broker.settings.max.bytes")
                    check_broker_settings(stored, settings, most)
                    encoded = self._checked_broker(settings, named, per_broker=per_broker)
                    check_broker_settings(stored, encoded, most)  # encrypted passwords are longer
                    return encoded

                await self._write("brokers", entity, checked, validate_only)
            case ResourceType.GROUP:
                await self._change_group(name, change, validate_only)
            case _:
                raise InvalidRequestError(f"Settings of resources of type {resource_type} cannot be altered.")

    async def _change_topic(self, topic: str, change: Change, validate_only: bool) -> None:
        notices: list[str] = []

        def checked(stored: Mapping[str, str]) -> Mapping[str, str]:
            settings = self._checked_topic(change(stored))
            self._settings_limit.check(stored, settings)
            notices[:] = topic_notices(topic, stored, settings)  # once more after a concurrent write
            return settings

        await self._write("topics", topic, checked, validate_only)
        if not validate_only:
            for line in notices:
                logger.warning("%s", line)

    async def _change_group(self, group_id: str, change: Change, validate_only: bool) -> None:
        if not can_be_node(group_id):
            raise InvalidRequestError(f"There are no settings of a group '{group_id}'.")

        def checked(stored: Mapping[str, str]) -> Mapping[str, str]:
            settings = change(stored)
            try:
                checked_overrides(self._dynamic.config, settings)
            except ConfigError as error:
                raise InvalidConfigurationError(str(error)) from error
            self._settings_limit.check_growth(size_of(group_id, settings) - size_of(group_id, stored))
            return settings

        await self._write(GROUPS, group_id, checked, validate_only)

    async def _write(self, entity_type: str, name: str, checked: Change, validate_only: bool) -> None:
        is_group = entity_type == GROUPS
        if validate_only:
            checked(await self._tree.config(entity_type, encode_entity_name(name) if is_group else name))
            return
        if is_group:
            written = await change_group_settings(self._tree, name, checked)
        else:
            written = await self._tree.change_config(entity_type, name, checked)
        logger.info("settings of %s/%s: %s", entity_type, name, _shown(entity_type, written) or "none of its own")
        await self._caught_up()

    def _require_topic(self, name: str) -> None:
        if not name:
            raise InvalidRequestError("The name of a topic is missing; there are no settings of all topics.")
        if not self._topic_exists(name):
            raise UnknownTopicOrPartitionError(f"There is no topic '{name}'.")

    def _require_this_broker(self, name: str) -> int:
        broker_id = broker_id_of(name)
        if broker_id != self._broker_id:
            raise InvalidRequestError(f"Settings of broker {name} were sent to broker {self._broker_id}.")
        return broker_id

    def _checked_topic(self, settings: Mapping[str, str]) -> Mapping[str, str]:
        try:
            TopicConfig.defaults(self._dynamic.config, settings)
        except ConfigError as error:
            raise InvalidConfigurationError(str(error)) from error
        return settings

    def _checked_broker(
        self, settings: Mapping[str, str], named: Sequence[str], *, per_broker: bool
    ) -> Mapping[str, str]:
        """The settings as they are stored."""
        try:
            self._dynamic.check(settings, per_broker=per_broker, named=named)
            return self._dynamic.passwords.encoded(settings)
        except ConfigError as error:
            raise InvalidRequestError(str(error)) from error  # Kafka's error code

    # -- loggers

    def _alter_loggers(self, name: str, operations: Sequence[Operation], *, validate_only: bool) -> None:
        self._require_this_broker(name)
        for operation in operations:
            self._check_logger(operation)
        if validate_only:
            return
        for operation in operations:
            if operation.type == OperationType.SET:
                assert operation.value is not None
                self._loggers.set(operation.name, operation.value)
            else:
                self._loggers.unset(operation.name)
            logger.warning("the log level of %s is %s now", operation.name, self._loggers.levels()[operation.name])

    def _check_logger(self, operation: Operation) -> None:
        if operation.type not in (OperationType.SET, OperationType.DELETE):
            raise InvalidRequestError("The level of a logger can only be set or deleted.")
        if not self._loggers.exists(operation.name):
            raise InvalidConfigurationError(f"There is no logger {operation.name}.")
        if operation.type == OperationType.DELETE:
            if operation.name == ROOT:
                raise InvalidRequestError(f"The level of the logger {ROOT} cannot be deleted.")
        elif operation.value not in LEVELS:
            raise InvalidConfigurationError(f"{operation.name}={operation.value}: must be one of {', '.join(LEVELS)}.")


def broker_id_of(name: str) -> int:
    """The broker id that a resource names. Raises InvalidRequestError."""
    if not _WHOLE_NUMBER.fullmatch(name):
        raise InvalidRequestError(f"A broker must be named by its id, not '{name}'.")
    return int(name)


def _broker_setting(name: str) -> Setting | None:
    return BROKER_SETTINGS.get(name) or DYNAMIC_ONLY_SETTINGS.get(name) or base_setting(name)


_SETTINGS_OF = {int(ResourceType.TOPIC): TOPIC_SETTINGS.get, int(ResourceType.GROUP): GROUP_SETTINGS.get}


def _altered(
    stored: Mapping[str, str], operations: Sequence[Operation], setting_of: Callable[[str], Setting | None]
) -> Mapping[str, str]:
    settings = dict(stored)
    for operation in operations:
        if operation.type == OperationType.DELETE:
            settings.pop(operation.name, None)
            continue
        assert operation.value is not None
        if operation.type == OperationType.SET:
            settings[operation.name] = operation.value
        else:
            settings[operation.name] = _altered_list(operation, settings.get(operation.name), setting_of)
    return settings


def _altered_list(operation: Operation, stored: str | None, setting_of: Callable[[str], Setting | None]) -> str:
    """A list after APPEND or SUBTRACT. An unset list begins with Kafka's default, not with a lower layer's value."""
    setting = setting_of(operation.name)
    if setting is None:
        raise InvalidConfigurationError(f"{operation.name}: there is no such setting.")
    if setting.type is not ValueType.LIST:
        raise InvalidConfigurationError(f"{operation.name}: only lists can be appended to or subtracted from.")
    assert operation.value is not None
    values = split_list(setting.default or "" if stored is None else stored)
    change = _longer if operation.type == OperationType.APPEND else _shorter
    text = ",".join(change(values, split_list(operation.value)))
    if len(text.encode()) > _LONGEST_TEXT:
        raise InvalidConfigurationError(f"{operation.name}: a list of {len(text)} characters is too long.")
    return text


def _longer(values: Iterable[str], more: Iterable[str]) -> list[str]:
    present = list(values)
    known = set(present)
    return present + [value for value in dict.fromkeys(more) if value not in known]


def _shorter(values: Iterable[str], fewer: Iterable[str]) -> list[str]:
    """``values`` without one occurrence of each of ``fewer``."""
    gone, kept = Counter(fewer), []
    for value in values:
        if gone[value]:
            gone[value] -= 1
        else:
            kept.append(value)
    return kept


def _shown(entity_type: str, settings: Mapping[str, str]) -> str:
    """Settings for the log, with secrets hidden."""
    of_type = {"topics": TOPIC_SETTINGS.get, GROUPS: GROUP_SETTINGS.get}
    setting_of = of_type.get(entity_type, _broker_setting)
    return ", ".join(
        f"{name}={text if (setting := setting_of(name)) is not None and not setting.is_secret else HIDDEN}"
        for name, text in settings.items()
    )
