"""Changes single settings of resources (IncrementalAlterConfigs, Kafka 2.3 or newer)."""

from collections.abc import Mapping

from ...client.admin_cluster import AdminCluster
from ...client.response_error import response_error
from ...protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from .resources import NamedResource

__all__ = ["alter_settings"]

_SET, _DELETE = 0, 1


def alter_settings(
    cluster: AdminCluster, resource: NamedResource, changes: Mapping[str, str | None], *, validate_only: bool
) -> None:
    """Set each setting to its value; None resets it to its default. Raises KafkaError."""
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=resource.kind,
                resource_name=resource.name,
                configs=[
                    AlterableConfig(name=name, config_operation=_DELETE if value is None else _SET, value=value)
                    for name, value in changes.items()
                ],
            )
        ],
        validate_only=validate_only,
    )
    broker_id = resource.broker_id
    response = cluster.ask_any(request) if broker_id is None else cluster.ask_broker(broker_id, request)
    for result in response.responses:
        if result.error_code:
            raise response_error(result, resource)
