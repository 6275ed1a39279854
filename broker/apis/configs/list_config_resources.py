"""ListConfigResources (KIP-1142): the resources that have settings. Kafka before 4.1: ListClientMetricsResources.

v0 lists subscriptions of client metrics; this broker has none. v1 lists resources of given types, or of all.
"""

from collections.abc import Callable, Collection, Iterable

from ....base.acls import AclOperation
from ....base.yielding import with_yields
from ....protocol.errors import ErrorCode, UnsupportedVersionError
from ....protocol.messages.list_client_metrics_resources import (
    ClientMetricsResource,
    ListClientMetricsResourcesRequest,
    ListClientMetricsResourcesResponse,
)
from ...metadata.metadata_cache import MetadataCache
from ...requests.context import RequestContext
from ...settings.altered_config import ResourceType

__all__ = ["ListConfigResources"]

_FIRST_WITH_TYPES = 1


class ListConfigResources:
    """Handles ListConfigResources requests. ``group_ids``: of the groups that have settings of their own.

    ``has_groups``: whether groups have settings now; where they have none, the API is not listed.
    """

    def __init__(
        self, cache: MetadataCache, group_ids: Callable[[], Collection[str]], has_groups: Callable[[], bool]
    ) -> None:
        self._cache = cache
        self._group_ids = group_ids
        self._has_groups = has_groups

    async def __call__(
        self, context: RequestContext, request: ListClientMetricsResourcesRequest
    ) -> ListClientMetricsResourcesResponse:
        if not self._has_groups():
            raise UnsupportedVersionError()
        context.require_on_cluster(AclOperation.DESCRIBE_CONFIGS)
        if context.api_version < _FIRST_WITH_TYPES:
            return ListClientMetricsResourcesResponse()
        wanted = request.resource_types or list(ResourceType)
        if not set(wanted) <= set(ResourceType):
            return ListClientMetricsResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        found = [
            ClientMetricsResource(name=name, resource_type=resource_type)
            for resource_type in sorted(set(wanted), reverse=True)  # as Kafka orders them
            async for name in with_yields(list(self._names(resource_type)))
        ]
        return ListClientMetricsResourcesResponse(client_metrics_resources=found)

    def _names(self, resource_type: int) -> Iterable[str]:
        match resource_type:
            case ResourceType.GROUP:
                return self._group_ids()
            case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
                return map(str, self._cache.broker_ids)
            case ResourceType.TOPIC:
                return self._cache.topics
        return ()
