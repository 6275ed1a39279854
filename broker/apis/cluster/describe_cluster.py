"""DescribeCluster (KIP-700): the brokers, the controller and the cluster id.

v1 can ask for KRaft controllers instead of brokers (KIP-919). That is refused: this cluster has brokers only.
v2 can ask for fenced brokers (KIP-1073), which this cluster does not have.
"""

from ....protocol.errors import ErrorCode
from ....protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from ...metadata.advertised_address import AdvertisedAddresses
from ...metadata.metadata_cache import MetadataCache
from ...requests.authorized_operations import NOT_ASKED
from ...requests.context import RequestContext

__all__ = ["DescribeCluster"]

_BROKERS = 1
_CONTROLLERS = 2
_NO_CONTROLLER = -1


class DescribeCluster:
    """Handles DescribeCluster requests."""

    def __init__(self, cache: MetadataCache, addresses: AdvertisedAddresses, cluster_id: str) -> None:
        self._cache = cache
        self._addresses = addresses
        self._cluster_id = cluster_id

    def __call__(self, context: RequestContext, request: DescribeClusterRequest) -> DescribeClusterResponse:
        if request.endpoint_type != _BROKERS:
            return _refusal(context, request.endpoint_type)
        brokers = [
            DescribeClusterBroker(broker_id=node.node_id, host=node.host, port=node.port, rack=node.rack)
            for node in self._addresses.endpoints(context.address)
        ]
        controller_id = self._cache.controller_id
        listed = any(broker.broker_id == controller_id for broker in brokers)
        asks_for_operations = request.include_cluster_authorized_operations
        return DescribeClusterResponse(
            cluster_id=self._cluster_id,
            controller_id=controller_id if listed else _NO_CONTROLLER,
            brokers=brokers,
            cluster_authorized_operations=context.cluster_operation_bits() if asks_for_operations else NOT_ASKED,
        )


def _refusal(context: RequestContext, endpoint_type: int) -> DescribeClusterResponse:
    if endpoint_type == _CONTROLLERS:
        error = ErrorCode.MISMATCHED_ENDPOINT_TYPE
        message = "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"
    else:
        error = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE
        message = f"Unsupported endpoint type {endpoint_type}"
    if context.api_version == 0:
        error = ErrorCode.INVALID_REQUEST
    return DescribeClusterResponse(error_code=error, error_message=message)
