"""Kafka's error codes, and an exception class for each.

Code raises the exception where it finds the error; the API layer turns it into its code. The classes have the names of
Kafka's exceptions with Error instead of Exception. Only TimeoutException is `RequestTimedOutError`, so that it does not
hide the builtin. ``retriable`` says whether a client may repeat the request.
"""

from enum import IntEnum
from typing import ClassVar

_MAX_CHARACTERS = 4_000


class ErrorCode(IntEnum):
    """The number of an error on the wire, under Kafka's name."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    OFFSET_OUT_OF_RANGE = 1
    CORRUPT_MESSAGE = 2
    UNKNOWN_TOPIC_OR_PARTITION = 3
    INVALID_FETCH_SIZE = 4
    LEADER_NOT_AVAILABLE = 5
    NOT_LEADER_OR_FOLLOWER = 6
    REQUEST_TIMED_OUT = 7
    BROKER_NOT_AVAILABLE = 8
    REPLICA_NOT_AVAILABLE = 9
    MESSAGE_TOO_LARGE = 10
    STALE_CONTROLLER_EPOCH = 11
    OFFSET_METADATA_TOO_LARGE = 12
    NETWORK_EXCEPTION = 13
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    INVALID_TOPIC_EXCEPTION = 17
    RECORD_LIST_TOO_LARGE = 18
    NOT_ENOUGH_REPLICAS = 19
    NOT_ENOUGH_REPLICAS_AFTER_APPEND = 20
    INVALID_REQUIRED_ACKS = 21
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    INVALID_COMMIT_OFFSET_SIZE = 28
    TOPIC_AUTHORIZATION_FAILED = 29
    GROUP_AUTHORIZATION_FAILED = 30
    CLUSTER_AUTHORIZATION_FAILED = 31
    INVALID_TIMESTAMP = 32
    UNSUPPORTED_SASL_MECHANISM = 33
    ILLEGAL_SASL_STATE = 34
    UNSUPPORTED_VERSION = 35
    TOPIC_ALREADY_EXISTS = 36
    INVALID_PARTITIONS = 37
    INVALID_REPLICATION_FACTOR = 38
    INVALID_REPLICA_ASSIGNMENT = 39
    INVALID_CONFIG = 40
    NOT_CONTROLLER = 41
    INVALID_REQUEST = 42
    UNSUPPORTED_FOR_MESSAGE_FORMAT = 43
    POLICY_VIOLATION = 44
    OUT_OF_ORDER_SEQUENCE_NUMBER = 45
    DUPLICATE_SEQUENCE_NUMBER = 46
    INVALID_PRODUCER_EPOCH = 47
    INVALID_TXN_STATE = 48
    INVALID_PRODUCER_ID_MAPPING = 49
    INVALID_TRANSACTION_TIMEOUT = 50
    CONCURRENT_TRANSACTIONS = 51
    TRANSACTION_COORDINATOR_FENCED = 52
    TRANSACTIONAL_ID_AUTHORIZATION_FAILED = 53
    SECURITY_DISABLED = 54
    OPERATION_NOT_ATTEMPTED = 55
    KAFKA_STORAGE_ERROR = 56
    LOG_DIR_NOT_FOUND = 57
    SASL_AUTHENTICATION_FAILED = 58
    UNKNOWN_PRODUCER_ID = 59
    REASSIGNMENT_IN_PROGRESS = 60
    DELEGATION_TOKEN_AUTH_DISABLED = 61
    DELEGATION_TOKEN_NOT_FOUND = 62
    DELEGATION_TOKEN_OWNER_MISMATCH = 63
    DELEGATION_TOKEN_REQUEST_NOT_ALLOWED = 64
    DELEGATION_TOKEN_AUTHORIZATION_FAILED = 65
    DELEGATION_TOKEN_EXPIRED = 66
    INVALID_PRINCIPAL_TYPE = 67
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    FETCH_SESSION_ID_NOT_FOUND = 70
    INVALID_FETCH_SESSION_EPOCH = 71
    LISTENER_NOT_FOUND = 72
    TOPIC_DELETION_DISABLED = 73
    FENCED_LEADER_EPOCH = 74
    UNKNOWN_LEADER_EPOCH = 75
    UNSUPPORTED_COMPRESSION_TYPE = 76
    STALE_BROKER_EPOCH = 77
    OFFSET_NOT_AVAILABLE = 78
    MEMBER_ID_REQUIRED = 79
    PREFERRED_LEADER_NOT_AVAILABLE = 80
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    ELIGIBLE_LEADERS_NOT_AVAILABLE = 83
    ELECTION_NOT_NEEDED = 84
    NO_REASSIGNMENT_IN_PROGRESS = 85
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    INVALID_RECORD = 87
    UNSTABLE_OFFSET_COMMIT = 88
    THROTTLING_QUOTA_EXCEEDED = 89
    PRODUCER_FENCED = 90
    RESOURCE_NOT_FOUND = 91
    DUPLICATE_RESOURCE = 92
    UNACCEPTABLE_CREDENTIAL = 93
    INCONSISTENT_VOTER_SET = 94
    INVALID_UPDATE_VERSION = 95
    FEATURE_UPDATE_FAILED = 96
    PRINCIPAL_DESERIALIZATION_FAILURE = 97
    SNAPSHOT_NOT_FOUND = 98
    POSITION_OUT_OF_RANGE = 99
    UNKNOWN_TOPIC_ID = 100
    DUPLICATE_BROKER_REGISTRATION = 101
    BROKER_ID_NOT_REGISTERED = 102
    INCONSISTENT_TOPIC_ID = 103
    INCONSISTENT_CLUSTER_ID = 104
    TRANSACTIONAL_ID_NOT_FOUND = 105
    FETCH_SESSION_TOPIC_ID_ERROR = 106
    INELIGIBLE_REPLICA = 107
    NEW_LEADER_ELECTED = 108
    OFFSET_MOVED_TO_TIERED_STORAGE = 109
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    MISMATCHED_ENDPOINT_TYPE = 114
    UNSUPPORTED_ENDPOINT_TYPE = 115
    UNKNOWN_CONTROLLER_ID = 116
    UNKNOWN_SUBSCRIPTION_ID = 117
    TELEMETRY_TOO_LARGE = 118
    INVALID_REGISTRATION = 119
    TRANSACTION_ABORTABLE = 120
    INVALID_RECORD_STATE = 121
    SHARE_SESSION_NOT_FOUND = 122
    INVALID_SHARE_SESSION_EPOCH = 123
    FENCED_STATE_EPOCH = 124
    INVALID_VOTER_KEY = 125
    DUPLICATE_VOTER = 126
    VOTER_NOT_FOUND = 127
    INVALID_REGULAR_EXPRESSION = 128
    SHARE_SESSION_LIMIT_REACHED = 133


def fitting(message: str) -> str:
    """Return ``message``, shortened to 4,000 characters: it may quote a client, and the wire allows 32,767 bytes."""
    return message if len(message) <= _MAX_CHARACTERS else f"{message[:_MAX_CHARACTERS]} ..."


class KafkaError(Exception):
    """An error with a code in the protocol. ``message`` is for the client; None means the text of the class."""

    code: ClassVar[ErrorCode] = ErrorCode.UNKNOWN_SERVER_ERROR
    retriable: ClassVar[bool] = False
    description: ClassVar[str] = "Unknown error."

    def __init__(self, message: str | None = None) -> None:
        self.message = None if message is None else fitting(message)
        super().__init__(self.message)

    def __init_subclass__(cls) -> None:
        cls.description = cls.__doc__ or cls.description

    def __str__(self) -> str:
        return self.message or self.description


def known_error_code(code: int) -> ErrorCode:
    """The member of ErrorCode; UNKNOWN_SERVER_ERROR for a code of a later version."""
    try:
        return ErrorCode(code)
    except ValueError:
        return ErrorCode.UNKNOWN_SERVER_ERROR


def error_for(code: int, message: str | None = None) -> KafkaError:
    """Return the exception for an error code, UnknownServerError for an unknown code.

    Raises ValueError for NONE, which is not an error.
    """
    if code == ErrorCode.NONE:
        raise ValueError("NONE is no error")
    error_class = _CLASSES.get(code)
    if error_class is None:
        return UnknownServerError(message or f"unknown error code {code}")
    return error_class(message)


class UnknownServerError(KafkaError):
    """Something unexpected went wrong in the broker; its log has the traceback."""

    code = ErrorCode.UNKNOWN_SERVER_ERROR


class OffsetOutOfRangeError(KafkaError):
    """The offset is outside the log."""

    code = ErrorCode.OFFSET_OUT_OF_RANGE


class CorruptRecordError(KafkaError):
    """A batch has a bad checksum, size or structure."""

    code = ErrorCode.CORRUPT_MESSAGE
    retriable = True


class UnknownTopicOrPartitionError(KafkaError):
    """The topic or partition does not exist here."""

    code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    retriable = True


class InvalidFetchSizeError(KafkaError):
    """The fetch size is invalid."""

    code = ErrorCode.INVALID_FETCH_SIZE


class LeaderNotAvailableError(KafkaError):
    """The partition has no leader at the moment."""

    code = ErrorCode.LEADER_NOT_AVAILABLE
    retriable = True


class NotLeaderOrFollowerError(KafkaError):
    """This broker is not the leader of the partition, or has no replica of it."""

    code = ErrorCode.NOT_LEADER_OR_FOLLOWER
    retriable = True


class RequestTimedOutError(KafkaError):
    """The request was not completed in time."""

    code = ErrorCode.REQUEST_TIMED_OUT
    retriable = True


class BrokerNotAvailableError(KafkaError):
    """The broker is not available."""

    code = ErrorCode.BROKER_NOT_AVAILABLE


class ReplicaNotAvailableError(KafkaError):
    """The replica is not available on this broker."""

    code = ErrorCode.REPLICA_NOT_AVAILABLE
    retriable = True


class RecordTooLargeError(KafkaError):
    """A record batch is larger than max.message.bytes allows."""

    code = ErrorCode.MESSAGE_TOO_LARGE


class ControllerMovedError(KafkaError):
    """The request comes from a controller that is not the current one."""

    code = ErrorCode.STALE_CONTROLLER_EPOCH


class OffsetMetadataTooLargeError(KafkaError):
    """The metadata committed with an offset is too long."""

    code = ErrorCode.OFFSET_METADATA_TOO_LARGE


class NetworkError(KafkaError):
    """The connection was closed before the response arrived."""

    code = ErrorCode.NETWORK_EXCEPTION
    retriable = True


class CoordinatorLoadInProgressError(KafkaError):
    """The coordinator is still loading its state."""

    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    retriable = True


class CoordinatorNotAvailableError(KafkaError):
    """The coordinator is not available at the moment."""

    code = ErrorCode.COORDINATOR_NOT_AVAILABLE
    retriable = True


class NotCoordinatorError(KafkaError):
    """This broker is not the coordinator of that group or transaction."""

    code = ErrorCode.NOT_COORDINATOR
    retriable = True


class InvalidTopicError(KafkaError):
    """The topic name is invalid, or the topic must not be used in this way."""

    code = ErrorCode.INVALID_TOPIC_EXCEPTION


class RecordBatchTooLargeError(KafkaError):
    """A record batch is larger than a log segment."""

    code = ErrorCode.RECORD_LIST_TOO_LARGE


class NotEnoughReplicasError(KafkaError):
    """Too few replicas are in sync to accept the records."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS
    retriable = True


class NotEnoughReplicasAfterAppendError(KafkaError):
    """The records were appended, but too few replicas are in sync now."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    retriable = True


class InvalidRequiredAcksError(KafkaError):
    """acks must be -1, 0 or 1."""

    code = ErrorCode.INVALID_REQUIRED_ACKS


class IllegalGenerationError(KafkaError):
    """The generation id is not the group's current one."""

    code = ErrorCode.ILLEGAL_GENERATION


class InconsistentGroupProtocolError(KafkaError):
    """The member shares no protocol with the rest of the group."""

    code = ErrorCode.INCONSISTENT_GROUP_PROTOCOL


class InvalidGroupIdError(KafkaError):
    """The group id is invalid."""

    code = ErrorCode.INVALID_GROUP_ID


class UnknownMemberIdError(KafkaError):
    """The group does not know this member."""

    code = ErrorCode.UNKNOWN_MEMBER_ID


class InvalidSessionTimeoutError(KafkaError):
    """The session timeout is outside the broker's limits for groups."""

    code = ErrorCode.INVALID_SESSION_TIMEOUT


class RebalanceInProgressError(KafkaError):
    """The group is rebalancing; the member has to join again."""

    code = ErrorCode.REBALANCE_IN_PROGRESS


class InvalidCommitOffsetSizeError(KafkaError):
    """The offset commit is too large."""

    code = ErrorCode.INVALID_COMMIT_OFFSET_SIZE


class TopicAuthorizationError(KafkaError):
    """Access to the topic is denied."""

    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED


class GroupAuthorizationError(KafkaError):
    """Access to the group is denied."""

    code = ErrorCode.GROUP_AUTHORIZATION_FAILED


class ClusterAuthorizationError(KafkaError):
    """The operation on the cluster is denied."""

    code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


class InvalidTimestampError(KafkaError):
    """A timestamp is outside the range that the topic accepts."""

    code = ErrorCode.INVALID_TIMESTAMP


class UnsupportedSaslMechanismError(KafkaError):
    """The SASL mechanism is not supported."""

    code = ErrorCode.UNSUPPORTED_SASL_MECHANISM


class IllegalSaslStateError(KafkaError):
    """The request does not fit the state of the SASL exchange."""

    code = ErrorCode.ILLEGAL_SASL_STATE


class UnsupportedVersionError(KafkaError):
    """The version of the API is not supported."""

    code = ErrorCode.UNSUPPORTED_VERSION


class TopicExistsError(KafkaError):
    """The topic exists already."""

    code = ErrorCode.TOPIC_ALREADY_EXISTS


class InvalidPartitionsError(KafkaError):
    """The number of partitions is invalid."""

    code = ErrorCode.INVALID_PARTITIONS


class InvalidReplicationFactorError(KafkaError):
    """The replication factor is below 1 or above the number of brokers."""

    code = ErrorCode.INVALID_REPLICATION_FACTOR


class InvalidReplicaAssignmentError(KafkaError):
    """The assignment of replicas is invalid."""

    code = ErrorCode.INVALID_REPLICA_ASSIGNMENT


class InvalidConfigurationError(KafkaError):
    """A configuration is invalid."""

    code = ErrorCode.INVALID_CONFIG


class NotControllerError(KafkaError):
    """This broker is not the controller."""

    code = ErrorCode.NOT_CONTROLLER
    retriable = True


class InvalidRequestError(KafkaError):
    """The request is malformed or contradicts itself."""

    code = ErrorCode.INVALID_REQUEST


class UnsupportedForMessageFormatError(KafkaError):
    """The message format of the topic cannot serve this request."""

    code = ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT


class PolicyViolationError(KafkaError):
    """The request violates a policy of the cluster."""

    code = ErrorCode.POLICY_VIOLATION


class OutOfOrderSequenceError(KafkaError):
    """A sequence number does not follow the last one of the producer."""

    code = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


class DuplicateSequenceError(KafkaError):
    """A sequence number was used before."""

    code = ErrorCode.DUPLICATE_SEQUENCE_NUMBER


class InvalidProducerEpochError(KafkaError):
    """The producer's epoch is older than the current one."""

    code = ErrorCode.INVALID_PRODUCER_EPOCH


class InvalidTxnStateError(KafkaError):
    """The transaction is in a state that does not allow this."""

    code = ErrorCode.INVALID_TXN_STATE


class InvalidPidMappingError(KafkaError):
    """The producer id does not belong to the transactional id."""

    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING


class InvalidTxnTimeoutError(KafkaError):
    """The transaction timeout is above transaction.max.timeout.ms."""

    code = ErrorCode.INVALID_TRANSACTION_TIMEOUT


class ConcurrentTransactionsError(KafkaError):
    """Another operation on the same transaction is still in progress."""

    code = ErrorCode.CONCURRENT_TRANSACTIONS
    retriable = True


class TransactionCoordinatorFencedError(KafkaError):
    """The transaction coordinator that sent the marker was replaced."""

    code = ErrorCode.TRANSACTION_COORDINATOR_FENCED


class TransactionalIdAuthorizationError(KafkaError):
    """Access to the transactional id is denied."""

    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class SecurityDisabledError(KafkaError):
    """Security features are switched off."""

    code = ErrorCode.SECURITY_DISABLED


class OperationNotAttemptedError(KafkaError):
    """The operation was not attempted, because another one of the same request failed."""

    code = ErrorCode.OPERATION_NOT_ATTEMPTED


class KafkaStorageError(KafkaError):
    """Reading or writing the log failed."""

    code = ErrorCode.KAFKA_STORAGE_ERROR
    retriable = True


class LogDirNotFoundError(KafkaError):
    """The log directory is not one of the broker's."""

    code = ErrorCode.LOG_DIR_NOT_FOUND


class SaslAuthenticationError(KafkaError):
    """SASL authentication failed."""

    code = ErrorCode.SASL_AUTHENTICATION_FAILED


class UnknownProducerIdError(KafkaError):
    """The broker does not know this producer id."""

    code = ErrorCode.UNKNOWN_PRODUCER_ID


class ReassignmentInProgressError(KafkaError):
    """A reassignment of the partition is in progress."""

    code = ErrorCode.REASSIGNMENT_IN_PROGRESS


class DelegationTokenDisabledError(KafkaError):
    """Delegation tokens are switched off."""

    code = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED


class DelegationTokenNotFoundError(KafkaError):
    """The delegation token does not exist."""

    code = ErrorCode.DELEGATION_TOKEN_NOT_FOUND


class DelegationTokenOwnerMismatchError(KafkaError):
    """The principal is neither owner nor renewer of the token."""

    code = ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH


class UnsupportedByAuthenticationError(KafkaError):
    """Delegation tokens cannot be requested over this kind of connection."""

    code = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED


class DelegationTokenAuthorizationError(KafkaError):
    """Access to the delegation token is denied."""

    code = ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED


class DelegationTokenExpiredError(KafkaError):
    """The delegation token has expired."""

    code = ErrorCode.DELEGATION_TOKEN_EXPIRED


class InvalidPrincipalTypeError(KafkaError):
    """The principal type is not supported."""

    code = ErrorCode.INVALID_PRINCIPAL_TYPE


class GroupNotEmptyError(KafkaError):
    """The group still has members."""

    code = ErrorCode.NON_EMPTY_GROUP


class GroupIdNotFoundError(KafkaError):
    """The group does not exist."""

    code = ErrorCode.GROUP_ID_NOT_FOUND


class FetchSessionIdNotFoundError(KafkaError):
    """The fetch session is not known here."""

    code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    retriable = True


class InvalidFetchSessionEpochError(KafkaError):
    """The epoch of the fetch session is not the expected one."""

    code = ErrorCode.INVALID_FETCH_SESSION_EPOCH
    retriable = True


class ListenerNotFoundError(KafkaError):
    """The leader has no listener with the name of the listener that received the request."""

    code = ErrorCode.LISTENER_NOT_FOUND
    retriable = True


class TopicDeletionDisabledError(KafkaError):
    """Deletion of topics is switched off."""

    code = ErrorCode.TOPIC_DELETION_DISABLED


class FencedLeaderEpochError(KafkaError):
    """The leader epoch in the request is older than this broker's."""

    code = ErrorCode.FENCED_LEADER_EPOCH
    retriable = True


class UnknownLeaderEpochError(KafkaError):
    """The leader epoch in the request is newer than this broker's."""

    code = ErrorCode.UNKNOWN_LEADER_EPOCH
    retriable = True


class UnsupportedCompressionTypeError(KafkaError):
    """The client does not support the compression type of the partition."""

    code = ErrorCode.UNSUPPORTED_COMPRESSION_TYPE


class StaleBrokerEpochError(KafkaError):
    """The broker epoch is not the current one."""

    code = ErrorCode.STALE_BROKER_EPOCH


class OffsetNotAvailableError(KafkaError):
    """The new leader's high watermark has not caught up yet."""

    code = ErrorCode.OFFSET_NOT_AVAILABLE
    retriable = True


class MemberIdRequiredError(KafkaError):
    """The member must join again with the member id it was given."""

    code = ErrorCode.MEMBER_ID_REQUIRED


class PreferredLeaderNotAvailableError(KafkaError):
    """The preferred leader is not available."""

    code = ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    retriable = True


class GroupMaxSizeReachedError(KafkaError):
    """The group has reached its maximum size."""

    code = ErrorCode.GROUP_MAX_SIZE_REACHED


class FencedInstanceIdError(KafkaError):
    """Another member has taken over the group.instance.id."""

    code = ErrorCode.FENCED_INSTANCE_ID


class EligibleLeadersNotAvailableError(KafkaError):
    """No eligible leader is available."""

    code = ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    retriable = True


class ElectionNotNeededError(KafkaError):
    """The partition needs no election."""

    code = ErrorCode.ELECTION_NOT_NEEDED
    retriable = True


class NoReassignmentInProgressError(KafkaError):
    """No reassignment is in progress."""

    code = ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


class GroupSubscribedToTopicError(KafkaError):
    """The group is subscribed to the topic, so its offsets stay."""

    code = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC


class InvalidRecordError(KafkaError):
    """A record failed validation."""

    code = ErrorCode.INVALID_RECORD


class UnstableOffsetCommitError(KafkaError):
    """Offsets of an open transaction are pending."""

    code = ErrorCode.UNSTABLE_OFFSET_COMMIT
    retriable = True


class ThrottlingQuotaExceededError(KafkaError):
    """A quota is exceeded."""

    code = ErrorCode.THROTTLING_QUOTA_EXCEEDED
    retriable = True


class ProducerFencedError(KafkaError):
    """A newer producer uses the same transactional id."""

    code = ErrorCode.PRODUCER_FENCED


class ResourceNotFoundError(KafkaError):
    """The request refers to something that does not exist."""

    code = ErrorCode.RESOURCE_NOT_FOUND


class DuplicateResourceError(KafkaError):
    """The request names the same thing twice."""

    code = ErrorCode.DUPLICATE_RESOURCE


class UnacceptableCredentialError(KafkaError):
    """The credential does not meet the requirements."""

    code = ErrorCode.UNACCEPTABLE_CREDENTIAL


class InconsistentVoterSetError(KafkaError):
    """Sender or receiver is not among the expected voters."""

    code = ErrorCode.INCONSISTENT_VOTER_SET


class InvalidUpdateVersionError(KafkaError):
    """The update has an unexpected version."""

    code = ErrorCode.INVALID_UPDATE_VERSION


class FeatureUpdateFailedError(KafkaError):
    """The features could not be updated."""

    code = ErrorCode.FEATURE_UPDATE_FAILED


class PrincipalDeserializationError(KafkaError):
    """The principal of a forwarded request cannot be read."""

    code = ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE


class SnapshotNotFoundError(KafkaError):
    """The snapshot does not exist."""

    code = ErrorCode.SNAPSHOT_NOT_FOUND


class PositionOutOfRangeError(KafkaError):
    """The position is outside the snapshot."""

    code = ErrorCode.POSITION_OUT_OF_RANGE


class UnknownTopicIdError(KafkaError):
    """No topic has this id here."""

    code = ErrorCode.UNKNOWN_TOPIC_ID
    retriable = True


class DuplicateBrokerRegistrationError(KafkaError):
    """Another broker is registered with this id."""

    code = ErrorCode.DUPLICATE_BROKER_REGISTRATION


class BrokerIdNotRegisteredError(KafkaError):
    """No broker is registered with this id."""

    code = ErrorCode.BROKER_ID_NOT_REGISTERED


class InconsistentTopicIdError(KafkaError):
    """The topic id is not the one that the log has."""

    code = ErrorCode.INCONSISTENT_TOPIC_ID
    retriable = True


class InconsistentClusterIdError(KafkaError):
    """The cluster id is not this cluster's."""

    code = ErrorCode.INCONSISTENT_CLUSTER_ID


class TransactionalIdNotFoundError(KafkaError):
    """The transactional id is not known."""

    code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


class FetchSessionTopicIdError(KafkaError):
    """The fetch session mixes topic ids and topic names."""

    code = ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
    retriable = True


class IneligibleReplicaError(KafkaError):
    """The new ISR contains a replica that is not eligible for it."""

    code = ErrorCode.INELIGIBLE_REPLICA


class NewLeaderElectedError(KafkaError):
    """The change was made and elected a new leader."""

    code = ErrorCode.NEW_LEADER_ELECTED


class OffsetMovedToTieredStorageError(KafkaError):
    """The offset was moved to tiered storage."""

    code = ErrorCode.OFFSET_MOVED_TO_TIERED_STORAGE


class FencedMemberEpochError(KafkaError):
    """The member epoch is fenced; the member has to give up its partitions and join again."""

    code = ErrorCode.FENCED_MEMBER_EPOCH


class UnreleasedInstanceIdError(KafkaError):
    """The instance id is still in use by another member."""

    code = ErrorCode.UNRELEASED_INSTANCE_ID


class UnsupportedAssignorError(KafkaError):
    """The group does not support this assignor."""

    code = ErrorCode.UNSUPPORTED_ASSIGNOR


class StaleMemberEpochError(KafkaError):
    """The member epoch is older than the current one."""

    code = ErrorCode.STALE_MEMBER_EPOCH


class MismatchedEndpointTypeError(KafkaError):
    """The request was sent to the wrong kind of listener."""

    code = ErrorCode.MISMATCHED_ENDPOINT_TYPE


class UnsupportedEndpointTypeError(KafkaError):
    """This kind of endpoint is not supported."""

    code = ErrorCode.UNSUPPORTED_ENDPOINT_TYPE


class UnknownControllerIdError(KafkaError):
    """The controller id is not known."""

    code = ErrorCode.UNKNOWN_CONTROLLER_ID


class UnknownSubscriptionIdError(KafkaError):
    """The telemetry subscription is unknown or outdated."""

    code = ErrorCode.UNKNOWN_SUBSCRIPTION_ID


class TelemetryTooLargeError(KafkaError):
    """The telemetry data is larger than the broker accepts."""

    code = ErrorCode.TELEMETRY_TOO_LARGE


class InvalidRegistrationError(KafkaError):
    """The controller refused the registration of the broker."""

    code = ErrorCode.INVALID_REGISTRATION


class TransactionAbortableError(KafkaError):
    """The transaction failed and can be aborted."""

    code = ErrorCode.TRANSACTION_ABORTABLE


class InvalidRecordStateError(KafkaError):
    """The record is in a state that does not allow this acknowledgement."""

    code = ErrorCode.INVALID_RECORD_STATE


class ShareSessionNotFoundError(KafkaError):
    """The share session is not known here."""

    code = ErrorCode.SHARE_SESSION_NOT_FOUND
    retriable = True


class InvalidShareSessionEpochError(KafkaError):
    """The epoch of the share session is not the expected one."""

    code = ErrorCode.INVALID_SHARE_SESSION_EPOCH
    retriable = True


class FencedStateEpochError(KafkaError):
    """The epoch of the share group's state does not match."""

    code = ErrorCode.FENCED_STATE_EPOCH


class InvalidVoterKeyError(KafkaError):
    """The voter key is not the receiving replica's."""

    code = ErrorCode.INVALID_VOTER_KEY


class DuplicateVoterError(KafkaError):
    """The voter is in the set already."""

    code = ErrorCode.DUPLICATE_VOTER


class VoterNotFoundError(KafkaError):
    """The voter is not in the set."""

    code = ErrorCode.VOTER_NOT_FOUND


class InvalidRegularExpressionError(KafkaError):
    """The regular expression is not valid."""

    code = ErrorCode.INVALID_REGULAR_EXPRESSION


class ShareSessionLimitReachedError(KafkaError):
    """The limit of share sessions has been reached."""

    code = ErrorCode.SHARE_SESSION_LIMIT_REACHED
    retriable = True


_CLASSES: dict[int, type[KafkaError]] = {
    error_class.code: error_class
    for error_class in (
        UnknownServerError,
        OffsetOutOfRangeError,
        CorruptRecordError,
        UnknownTopicOrPartitionError,
        InvalidFetchSizeError,
        LeaderNotAvailableError,
        NotLeaderOrFollowerError,
        RequestTimedOutError,
        BrokerNotAvailableError,
        ReplicaNotAvailableError,
        RecordTooLargeError,
        ControllerMovedError,
        OffsetMetadataTooLargeError,
        NetworkError,
        CoordinatorLoadInProgressError,
        CoordinatorNotAvailableError,
        NotCoordinatorError,
        InvalidTopicError,
        RecordBatchTooLargeError,
        NotEnoughReplicasError,
        NotEnoughReplicasAfterAppendError,
        InvalidRequiredAcksError,
        IllegalGenerationError,
        InconsistentGroupProtocolError,
        InvalidGroupIdError,
        UnknownMemberIdError,
        InvalidSessionTimeoutError,
        RebalanceInProgressError,
        InvalidCommitOffsetSizeError,
        TopicAuthorizationError,
        GroupAuthorizationError,
        ClusterAuthorizationError,
        InvalidTimestampError,
        UnsupportedSaslMechanismError,
        IllegalSaslStateError,
        UnsupportedVersionError,
        TopicExistsError,
        InvalidPartitionsError,
        InvalidReplicationFactorError,
        InvalidReplicaAssignmentError,
        InvalidConfigurationError,
        NotControllerError,
        InvalidRequestError,
        UnsupportedForMessageFormatError,
        PolicyViolationError,
        OutOfOrderSequenceError,
        DuplicateSequenceError,
        InvalidProducerEpochError,
        InvalidTxnStateError,
        InvalidPidMappingError,
        InvalidTxnTimeoutError,
        ConcurrentTransactionsError,
        TransactionCoordinatorFencedError,
        TransactionalIdAuthorizationError,
        SecurityDisabledError,
        OperationNotAttemptedError,
        KafkaStorageError,
        LogDirNotFoundError,
        SaslAuthenticationError,
        UnknownProducerIdError,
        ReassignmentInProgressError,
        DelegationTokenDisabledError,
        DelegationTokenNotFoundError,
        DelegationTokenOwnerMismatchError,
        UnsupportedByAuthenticationError,
        DelegationTokenAuthorizationError,
        DelegationTokenExpiredError,
        InvalidPrincipalTypeError,
        GroupNotEmptyError,
        GroupIdNotFoundError,
        FetchSessionIdNotFoundError,
        InvalidFetchSessionEpochError,
        ListenerNotFoundError,
        TopicDeletionDisabledError,
        FencedLeaderEpochError,
        UnknownLeaderEpochError,
        UnsupportedCompressionTypeError,
        StaleBrokerEpochError,
        OffsetNotAvailableError,
        MemberIdRequiredError,
        PreferredLeaderNotAvailableError,
        GroupMaxSizeReachedError,
        FencedInstanceIdError,
        EligibleLeadersNotAvailableError,
        ElectionNotNeededError,
        NoReassignmentInProgressError,
        GroupSubscribedToTopicError,
        InvalidRecordError,
        UnstableOffsetCommitError,
        ThrottlingQuotaExceededError,
        ProducerFencedError,
        ResourceNotFoundError,
        DuplicateResourceError,
        UnacceptableCredentialError,
        InconsistentVoterSetError,
        InvalidUpdateVersionError,
        FeatureUpdateFailedError,
        PrincipalDeserializationError,
        SnapshotNotFoundError,
        PositionOutOfRangeError,
        UnknownTopicIdError,
        DuplicateBrokerRegistrationError,
        BrokerIdNotRegisteredError,
        InconsistentTopicIdError,
        InconsistentClusterIdError,
        TransactionalIdNotFoundError,
        FetchSessionTopicIdError,
        IneligibleReplicaError,
        NewLeaderElectedError,
        OffsetMovedToTieredStorageError,
        FencedMemberEpochError,
        UnreleasedInstanceIdError,
        UnsupportedAssignorError,
        StaleMemberEpochError,
        MismatchedEndpointTypeError,
        UnsupportedEndpointTypeError,
        UnknownControllerIdError,
        UnknownSubscriptionIdError,
        TelemetryTooLargeError,
        InvalidRegistrationError,
        TransactionAbortableError,
        InvalidRecordStateError,
        ShareSessionNotFoundError,
        InvalidShareSessionEpochError,
        FencedStateEpochError,
        InvalidVoterKeyError,
        DuplicateVoterError,
        VoterNotFoundError,
        InvalidRegularExpressionError,
        ShareSessionLimitReachedError,
    )
}
