"""TxnOffsetCommit (KIP-98): refused for good.

Transactions are not served, and a producer that asks for them is to stop at once, with this code: on a retriable one it
would go on for its whole time-out.
"""

from ...protocol.errors import ErrorCode
from ...protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from .context import RequestContext

__all__ = ["txn_offset_commit"]


def txn_offset_commit(context: RequestContext, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
