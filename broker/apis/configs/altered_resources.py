"""Applies changes of settings resource by resource, for AlterConfigs and IncrementalAlterConfigs."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Protocol, TypeVar

from ....base.acls import AclOperation, AclResourceType
from ....base.yielding import with_yields
from ....protocol.errors import ErrorCode, InvalidRequestError, KafkaError
from ...requests.context import RequestContext
from ...settings.altered_config import ResourceType

__all__ = ["Outcome", "alter_each", "check_entries", "require_right"]

Outcome = tuple[ErrorCode, str | None]
"""The error code, and the error message."""


class Resource(Protocol):
    """A resource in the request of either API."""

    resource_type: int
    resource_name: str


AnyResource = TypeVar("AnyResource", bound=Resource)


async def alter_each(
    resources: Sequence[AnyResource], alter: Callable[[AnyResource], Awaitable[None]]
) -> list[Outcome]:
    """The outcome of ``alter`` for each resource, in their order. A resource that is named twice is not altered."""
    mentions = Counter((resource.resource_type, resource.resource_name) for resource in resources)
    outcomes: list[Outcome] = []
    async for resource in with_yields(resources):
        try:
            if mentions[resource.resource_type, resource.resource_name] > 1:
                raise InvalidRequestError("A resource must not appear more than once.")
            await alter(resource)
        except KafkaError as error:
            outcomes.append((error.code, str(error)))
        else:
            outcomes.append((ErrorCode.NONE, None))
    return outcomes


def require_right(context: RequestContext, operation: AclOperation, resource: Resource) -> None:
    """Raises the authorization error. Rights to settings of brokers and of their loggers are rights to the cluster."""
    if resource.resource_type == ResourceType.TOPIC:
        context.require(operation, AclResourceType.TOPIC, resource.resource_name)
    elif resource.resource_type == ResourceType.GROUP:
        context.require(operation, AclResourceType.GROUP, resource.resource_name)
    else:
        context.require_on_cluster(operation)


def check_entries(entries: Iterable[tuple[str, str | None]]) -> None:
    """Raises InvalidRequestError when a setting is named twice or its value is null."""
    values = list(entries)
    names = [name for name, _ in values]
    if len(set(names)) < len(names):
        raise InvalidRequestError("A setting must not appear more than once.")
    nulls = [name for name, value in values if value is None]
    if nulls:
        raise InvalidRequestError(f"A value must not be null: {', '.join(nulls)}.")
