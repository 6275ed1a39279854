"""IncrementalAlterConfigs (KIP-339): set, delete, append to or subtract from single settings of topics, brokers and
loggers (loggers: KIP-412). v1 flexible.
"""

from ....base.acls import AclOperation
from ....protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from ...requests.context import RequestContext
from ...settings.altered_config import AlteredConfig, Operation, OperationType
from .altered_resources import alter_each, check_entries, require_right

__all__ = ["IncrementalAlterConfigs"]


class IncrementalAlterConfigs:
    """Handles IncrementalAlterConfigs requests."""

    def __init__(self, configs: AlteredConfig) -> None:
        self._configs = configs

    async def __call__(
        self, context: RequestContext, request: IncrementalAlterConfigsRequest
    ) -> IncrementalAlterConfigsResponse:
        async def alter(resource: AlterConfigsResource) -> None:
            check_entries(
                (config.name, "" if config.config_operation == OperationType.DELETE else config.value)
                for config in resource.configs
            )
            self._configs.check_resource(resource.resource_type, resource.resource_name, is_replaced=False)
            require_right(context, AclOperation.ALTER_CONFIGS, resource)
            operations = [Operation(config.name, config.config_operation, config.value) for config in resource.configs]
            await self._configs.alter(
                resource.resource_type, resource.resource_name, operations, validate_only=request.validate_only
            )

        outcomes = await alter_each(request.resources, alter)
        return IncrementalAlterConfigsResponse(
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
