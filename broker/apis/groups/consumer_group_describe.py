"""ConsumerGroupDescribe (KIP-848): the new consumer protocol is off, as it is with ZooKeeper.

Tools then ask for the group in the classic way.
"""

from ....protocol.errors import ErrorCode
from ....protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from ...requests.context import RequestContext

__all__ = ["consumer_group_describe"]


def consumer_group_describe(
    context: RequestContext, request: ConsumerGroupDescribeRequest
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[
            DescribedGroup(group_id=group_id, error_code=ErrorCode.UNSUPPORTED_VERSION)
            for group_id in request.group_ids
        ]
    )
