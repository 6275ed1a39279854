"""TxnOffsetCommit (KIP-98): offsets of a group that take effect when the producer's transaction commits.

Behaviour: the handler first asks the transaction's coordinator whether it knows the offsets partition (KIP-890). The
coordinator ends the transaction with a marker in that partition.

v2 leader epochs (KIP-320) · v3 flexible; fencing by member and generation (KIP-447) · v4 may answer
TRANSACTION_ABORTABLE (KIP-890) · v5 adds the offsets partition to the transaction.
"""

from collections.abc import Awaitable, Mapping

from ....base.acls import AclOperation, AclResourceType
from ....base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from ....protocol.records.batch import NO_SEQUENCE
from ....replication.transaction_checks import ProducerBatch, TransactionChecks
from ....storage.producers.verification_guards import VerificationGuard
from ...coordinator.group.commit_request import CommitRequest
from ...coordinator.group.commits import CommitReply
from ...coordinator.group.coordinator import GroupCoordinator
from ...coordinator.group.offset_batch import TransactionalProducer
from ...coordinator.group.offset_log import commit_error
from ...coordinator.group.offsets import OffsetAndMetadata
from ...coordinator.pending_response import PendingResponse
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from ..groups.legacy_offsets import TopicExists

__all__ = ["TxnOffsetCommit"]

_UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
_FIRST_VERSION_FOR_LOADING = 2
"""Older clients fail on COORDINATOR_LOAD_IN_PROGRESS (KAFKA-7296)."""
_FIRST_VERSION_FOR_ABORTABLE = 4
_FIRST_VERSION_THAT_ADDS = 5

Codes = Mapping[TopicPartition, ErrorCode]


class TxnOffsetCommit:
    """Handler. ``checks`` asks the transaction's coordinator."""

    def __init__(self, groups: GroupCoordinator, topic_exists: TopicExists, checks: TransactionChecks) -> None:
        self._groups = groups
        self._topic_exists = topic_exists
        self._checks = checks

    def __call__(
        self, context: RequestContext, request: TxnOffsetCommitRequest
    ) -> TxnOffsetCommitResponse | Awaitable[TxnOffsetCommitResponse]:
        """The response comes when the offsets are written."""
        context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id)
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        denied = context.denied(AclOperation.READ, AclResourceType.TOPIC, (topic.name for topic in request.topics))
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
        known = {key: value for key, value in asked.items() if key.topic not in denied and self._topic_exists(*key)}
        unknown = {key: TOPIC_DENIED if key.topic in denied else _UNKNOWN for key in asked}
        if not known:
            return _response(unknown)

        def to_response(codes: Codes) -> TxnOffsetCommitResponse:
            if context.api_version < _FIRST_VERSION_FOR_LOADING:
                codes = {key: _for_old_clients(code) for key, code in codes.items()}
            elif context.api_version < _FIRST_VERSION_FOR_ABORTABLE:
                codes = {key: _without_abortable(code) for key, code in codes.items()}
            return _response({**unknown, **codes})

        response: PendingResponse[Codes, TxnOffsetCommitResponse] = PendingResponse(to_response)
        commit = CommitRequest(
            request.group_id, known, request.member_id, request.group_instance_id, request.generation_id
        )
        self._commit(request, commit, response, adds=context.api_version >= _FIRST_VERSION_THAT_ADDS)
        return response.take()

    def _commit(
        self, request: TxnOffsetCommitRequest, commit: CommitRequest, reply: CommitReply, *, adds: bool
    ) -> None:
        """Commit once the coordinator has the group's offsets partition in the transaction."""
        commits, producer_id, epoch = self._groups.commits, request.producer_id, request.producer_epoch
        error = commits.refusal_of_group(request.group_id)
        if error is not ErrorCode.NONE:
            reply(dict.fromkeys(commit.offsets, error))
            return

        def checked(error: ErrorCode, guard: VerificationGuard | None) -> None:
            if error is ErrorCode.NONE:
                commits.commit_in_transaction(commit, TransactionalProducer(producer_id, epoch, guard), reply)
            else:
                reply(dict.fromkeys(commit.offsets, commit_error(error)))

        partition = TopicPartition(CONSUMER_OFFSETS_TOPIC, self._groups.partition_for(request.group_id))
        batch = ProducerBatch(producer_id, epoch, NO_SEQUENCE)
        self._checks.check(partition, request.transactional_id, batch, checked, adds=adds)


def _for_old_clients(code: ErrorCode) -> ErrorCode:
    is_loading = code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return ErrorCode.COORDINATOR_NOT_AVAILABLE if is_loading else _without_abortable(code)


def _without_abortable(code: ErrorCode) -> ErrorCode:
    return ErrorCode.INVALID_TXN_STATE if code is ErrorCode.TRANSACTION_ABORTABLE else code


def _response(codes: Codes) -> TxnOffsetCommitResponse:
    topics: dict[str, list[TxnOffsetCommitResponsePartition]] = {}
    for key, code in codes.items():
        partition = TxnOffsetCommitResponsePartition(partition_index=key.partition, error_code=code)
        topics.setdefault(key.topic, []).append(partition)
    return TxnOffsetCommitResponse(
        topics=[TxnOffsetCommitResponseTopic(name=name, partitions=partitions) for name, partitions in topics.items()]
    )
