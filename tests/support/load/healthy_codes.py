"""The error codes of the responses to `requests_of_each_api` and `requests_without_internal_topics` without trouble.

A request whose response has another code is refused for a reason that its row does not intend, so it may not reach the
part of the broker that waits.
"""

from collections.abc import Mapping

from pybroker.protocol.errors import ErrorCode
from support.load.answer_times import AnswerTime

__all__ = ["HEALTHY_CODES", "unexpected_codes"]

_OF_ANY_COORDINATOR = (
    ErrorCode.NONE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
)
"""The transactional id's coordinator may be this broker or another one, and its topic is created meanwhile."""
_BEING_CREATED = (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
_NO_IDS_YET = (ErrorCode.NONE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
"""A busy machine may not have fetched a block of ids yet."""
_NO_TOKENS = (ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,)
_KRAFT_ONLY = (ErrorCode.UNSUPPORTED_VERSION,)
_NO_AUTHORIZER = (ErrorCode.SECURITY_DISABLED,)

HEALTHY_CODES: Mapping[str, tuple[ErrorCode, ...]] = {
    "LeaderAndIsr, stale": (ErrorCode.STALE_CONTROLLER_EPOCH,),
    "StopReplica, stale": (ErrorCode.STALE_CONTROLLER_EPOCH,),
    "UpdateMetadata, stale": (ErrorCode.STALE_CONTROLLER_EPOCH,),
    "Metadata, 1 new topic": _BEING_CREATED,
    "Metadata, 5 new topics": _BEING_CREATED,
    "Metadata, 1 new topic, of the controller": _BEING_CREATED,
    "Metadata, 5 new topics, of the controller": _BEING_CREATED,
    "FindCoordinator, transactional id": _OF_ANY_COORDINATOR,
    "Heartbeat, unknown member": (ErrorCode.UNKNOWN_MEMBER_ID,),
    "LeaveGroup, unknown member": (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID),
    "SyncGroup, unknown member": (ErrorCode.UNKNOWN_MEMBER_ID,),
    "OffsetDelete": (ErrorCode.NONE, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC),
    "DeleteGroups": (ErrorCode.NON_EMPTY_GROUP,),
    "SaslHandshake": (ErrorCode.ILLEGAL_SASL_STATE,),
    "SaslAuthenticate": (ErrorCode.ILLEGAL_SASL_STATE,),
    "InitProducerId, the first": _NO_IDS_YET,
    "InitProducerId, the second": _NO_IDS_YET,
    "InitProducerId, the first, of the controller": _NO_IDS_YET,
    "InitProducerId, the second, of the controller": _NO_IDS_YET,
    "InitProducerId, transactional id": _OF_ANY_COORDINATOR,
    "AddPartitionsToTxn": _OF_ANY_COORDINATOR,
    "AddOffsetsToTxn": _OF_ANY_COORDINATOR,
    "EndTxn": _OF_ANY_COORDINATOR,
    "DescribeTransactions": _OF_ANY_COORDINATOR,
    "WriteTxnMarkers, unknown partition": (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,),
    "TxnOffsetCommit": _OF_ANY_COORDINATOR,
    "DescribeAcls": _NO_AUTHORIZER,
    "CreateAcls": _NO_AUTHORIZER,
    "DeleteAcls": _NO_AUTHORIZER,
    "CreateDelegationToken": _NO_TOKENS,
    "RenewDelegationToken": _NO_TOKENS,
    "ExpireDelegationToken": _NO_TOKENS,
    "DescribeDelegationToken": _NO_TOKENS,
    "DescribeUserScramCredentials": (ErrorCode.NONE, ErrorCode.RESOURCE_NOT_FOUND),
    "AlterUserScramCredentials": (ErrorCode.RESOURCE_NOT_FOUND, ErrorCode.NOT_CONTROLLER),
    "ConsumerGroupHeartbeat": _KRAFT_ONLY,
    "ConsumerGroupDescribe": _KRAFT_ONLY,
    "CreateTopics": (ErrorCode.NONE, ErrorCode.NOT_CONTROLLER),
    "ControlledShutdown, stale, of the controller": (ErrorCode.STALE_BROKER_EPOCH,),
    "AlterPartition, stale, of the controller": (ErrorCode.STALE_BROKER_EPOCH,),
    "AllocateProducerIds, stale, of the controller": (ErrorCode.STALE_BROKER_EPOCH,),
    "ElectLeaders, not needed, of the controller": (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED),
    "UpdateFeatures, of the controller": (ErrorCode.NONE, ErrorCode.INVALID_REQUEST),
}
"""By the name of the request; NONE alone for all others. A response may have several codes."""
_UNCHECKED = ", topic missing"
"""The request races with the creation of the internal topic."""


def unexpected_codes(time: AnswerTime) -> list[ErrorCode]:
    """The codes of the response that its request must not get without trouble."""
    if _UNCHECKED in time.name:
        return []
    expected = HEALTHY_CODES.get(time.name, (ErrorCode.NONE,))
    return [ErrorCode(code) for code in time.codes if code not in expected]
