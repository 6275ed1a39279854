"""AlterConfigs (KIP-133): replace all settings of topics or brokers.

IncrementalAlterConfigs changes single settings. v2 flexible.
"""

from ....base.acls import AclOperation
from ....protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from ...requests.context import RequestContext
from ...settings.altered_config import AlteredConfig
from .altered_resources import alter_each, check_entries, require_right

__all__ = ["AlterConfigs"]


class AlterConfigs:
    """Handles AlterConfigs requests."""

    def __init__(self, configs: AlteredConfig) -> None:
        self._configs = configs

    async def __call__(self, context: RequestContext, request: AlterConfigsRequest) -> AlterConfigsResponse:
        async def replace(resource: AlterConfigsResource) -> None:
            check_entries((config.name, config.value) for config in resource.configs)
            self._configs.check_resource(resource.resource_type, resource.resource_name, is_replaced=True)
            require_right(context, AclOperation.ALTER_CONFIGS, resource)
            settings = {config.name: config.value for config in resource.configs if config.value is not None}
            await self._configs.replace(
                resource.resource_type, resource.resource_name, settings, validate_only=request.validate_only
            )

        outcomes = await alter_each(request.resources, replace)
        return AlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(
                    error_code=code,
                    error_message=message,
                    resource_type=resource.resource_type,
                    resource_name=resource.resource_name,
                )
                for resource, (code, message) in zip(request.resources, outcomes, strict=True)
            ]
        )
