"""ConsumerGroupHeartbeat (KIP-848): the new consumer protocol is off, as it is with ZooKeeper."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from ...requests.context import RequestContext

__all__ = ["consumer_group_heartbeat"]


def consumer_group_heartbeat(
    context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
