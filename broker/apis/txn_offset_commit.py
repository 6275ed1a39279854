"""TxnOffsetCommit (KIP-98): offsets of a group that take effect when the transaction of a producer commits.

v2 leader epochs (KIP-320) · v3 flexible, and fencing by member and generation (KIP-447) · v4 may answer
TRANSACTION_ABORTABLE (KIP-890), which nothing here does.

In a cluster brokers of Kafka may coordinate transactions of which offsets are kept here, and write their ends here
(WriteTxnMarkers). That the coordinator knows of this part of the transaction is not verified with it (KIP-890).
Elsewhere they are refused for good: a producer that asks for transactions, which are not served, is to stop at once,
with this code; on a retriable one it would go on for its whole time-out.
"""

from collections.abc import Awaitable, Mapping

from ...protocol.errors import ErrorCode
from ...protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from ...storage.topic_partition import TopicPartition
from ..coordinator.answer import Answer
from ..coordinator.group.commits import CommitRequest, Commits
from ..coordinator.group.offset_batch import TransactionalProducer
from ..coordinator.group.offsets import OffsetAndMetadata
from .context import RequestContext
from .legacy_offsets import TopicExists

__all__ = ["TxnOffsetCommit", "txn_offset_commit"]

_FIRST_VERSION_FOR_LOADING = 2
"""Older clients fail on COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)."""

Codes = Mapping[TopicPartition, ErrorCode]


class TxnOffsetCommit:
    """Handler of a broker in a cluster."""

    def __init__(self, commits: Commits, topic_exists: TopicExists) -> None:
        self._commits = commits
        self._topic_exists = topic_exists

    def __call__(
        self, context: RequestContext, request: TxnOffsetCommitRequest
    ) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
        """The answer comes when the offsets are written."""
        asked = {
            TopicPartition(topic.name, partition.partition_index): OffsetAndMetadata(
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.committed_metadata or "",
                context.now_ms,
            )
            for topic in request.topics
            for partition in topic.partitions
        }
        known = {key: value for key, value in asked.items() if self._topic_exists(*key)}
        unknown = dict.fromkeys(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if not known:
            return _response(unknown)

        def shape(codes: Codes) -> TxnOffsetCommitResponse:
            if context.api_version < _FIRST_VERSION_FOR_LOADING:
                codes = {key: _for_old_clients(code) for key, code in codes.items()}
            return _response({**unknown, **codes})

        answer = Answer[Codes, TxnOffsetCommitResponse](shape)
        commit = CommitRequest(
            request.group_id, known, request.member_id, request.group_instance_id, request.generation_id
        )
        producer = TransactionalProducer(request.producer_id, request.producer_epoch)
        self._commits.commit_in_transaction(commit, producer, answer)
        return answer.take()


def txn_offset_commit(context: RequestContext, request: TxnOffsetCommitRequest) -> TxnOffsetCommitResponse:
    """Handler of a broker that is alone."""
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


def _for_old_clients(code: ErrorCode) -> ErrorCode:
    is_loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if is_loading else code


def _response(codes: Codes) -> TxnOffsetCommitResponse:
    topics: dict[str, list[TxnOffsetCommitResponsePartition]] = {}
    for key, code in codes.items():
        partition = TxnOffsetCommitResponsePartition(partition_index=key.partition, error_code=code)
        topics.setdefault(key.topic, []).append(partition)
    return TxnOffsetCommitResponse(
        topics=[TxnOffsetCommitResponseTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
    )
