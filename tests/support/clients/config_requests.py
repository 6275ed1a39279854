"""Short builders of requests about settings, and short forms of the responses."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pybroker.protocol.messages.alter_configs import AlterableConfig as LegacyConfig
from pybroker.protocol.messages.alter_configs import AlterConfigsRequest
from pybroker.protocol.messages.alter_configs import AlterConfigsResource as LegacyResource
from pybroker.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

__all__ = [
    "APPEND",
    "BROKER",
    "DEFAULT",
    "DELETE",
    "LOGGER",
    "OF_ALL_BROKERS",
    "OF_BROKER",
    "OF_FILE",
    "OF_LOGGER",
    "OF_TOPIC",
    "SET",
    "SUBTRACT",
    "TOPIC",
    "Change",
    "Resource",
    "alter",
    "describe",
    "layers",
    "replace",
]

TOPIC, BROKER, LOGGER = 2, 4, 8
SET, DELETE, APPEND, SUBTRACT = range(4)
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, OF_FILE, DEFAULT, OF_LOGGER = range(1, 7)
"""Sources of a value, by Kafka's numbers."""


class Change(NamedTuple):
    name: str
    operation: int
    value: str | None = None


class Resource(NamedTuple):
    type: int
    name: str


def alter(*resources: tuple[Resource, Sequence[Change]], validate_only: bool = False) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=[
                    AlterableConfig(name=change.name, config_operation=change.operation, value=change.value)
                    for change in changes
                ],
            )
            for resource, changes in resources
        ],
        validate_only=validate_only,
    )


def replace(*resources: tuple[Resource, Mapping[str, str | None]], validate_only: bool = False) -> AlterConfigsRequest:
    return AlterConfigsRequest(
        resources=[
            LegacyResource(
                resource_type=resource.type,
                resource_name=resource.name,
                configs=[LegacyConfig(name=name, value=value) for name, value in settings.items()],
            )
            for resource, settings in resources
        ],
        validate_only=validate_only,
    )


def describe(
    resource: Resource, *names: str, synonyms: bool = False, documentation: bool = False
) -> DescribeConfigsRequest:
    """Returns a request for all settings or for `names`."""
    asked = DescribeConfigsResource(
        resource_type=resource.type, resource_name=resource.name, configuration_keys=list(names) or None
    )
    return DescribeConfigsRequest(resources=[asked], include_synonyms=synonyms, include_documentation=documentation)


def layers(entry: DescribeConfigsResourceResult) -> list[tuple[str, str | None, int]]:
    """Returns the synonyms of a setting: name, value, source."""
    return [(synonym.name, synonym.value, synonym.source) for synonym in entry.synonyms]
