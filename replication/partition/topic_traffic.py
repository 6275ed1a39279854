"""Counters of the traffic of each topic, with the meanings of Kafka's BrokerTopicMetrics.

They are plain integers that the code which does the work increments. The sum over all topics is made when somebody
asks. Limits: a topic without a partition on this broker has no counters of its own, so that names that clients make up
take no memory; its requests count in the sum only.
"""

from ...protocol.errors import (
    CorruptRecordError,
    KafkaStorageError,
    NotLeaderOrFollowerError,
    RecordBatchTooLargeError,
    RecordTooLargeError,
    UnknownTopicOrPartitionError,
)
from ...storage.errors import (
    InvalidChecksumError,
    InvalidMagicError,
    InvalidRecordsError,
    InvalidSequenceError,
    InvalidTimestampsError,
)

__all__ = ["BrokerTraffic", "TopicTraffic"]


_EXPECTED_ERRORS = (
    UnknownTopicOrPartitionError,
    NotLeaderOrFollowerError,
    RecordTooLargeError,
    RecordBatchTooLargeError,
    CorruptRecordError,
    KafkaStorageError,
)
"""Errors with which an append does not count as failed, as in Kafka."""


class TopicTraffic:
    """The traffic of one topic on this broker, since the first of its partitions came here."""

    __slots__ = (
        "bytes_in",
        "bytes_out",
        "bytes_rejected",
        "failed_fetch_requests",
        "failed_produce_requests",
        "fetch_message_conversions",
        "messages_in",
        "partitions",
        "produce_message_conversions",
        "total_fetch_requests",
        "total_produce_requests",
    )

    def __init__(self) -> None:
        self.partitions = 0
        """The partitions of the topic that are on this broker now."""
        self.messages_in = 0
        """Records that the leader accepted, a repeated batch too."""
        self.bytes_in = 0
        """Bytes of accepted record sets, as they came."""
        self.bytes_out = 0
        """Bytes of records sent to consumers, before they are converted to an old format."""
        self.bytes_rejected = 0
        """Bytes of record sets that were refused as too large."""
        self.total_produce_requests = 0
        """Appends to a partition, the coordinators' too: a request counts once for each of its partitions."""
        self.failed_produce_requests = 0
        """Appends that failed for another reason than a wrong leader, a failed disk, or a corrupt or large batch."""
        self.total_fetch_requests = 0
        """Reads of a partition by consumers and followers: a request counts once for each of its partitions."""
        self.failed_fetch_requests = 0
        """Reads that failed by a fault of this broker."""
        self.produce_message_conversions = 0
        """Accepted records that were converted from an old format, or compressed anew."""
        self.fetch_message_conversions = 0
        """Records that were converted to an old format for a consumer."""


_COUNTERS = tuple(name for name in TopicTraffic.__slots__ if name != "partitions")


class BrokerTraffic:
    """The traffic of all topics. ``topics``: the topics that have a partition here."""

    __slots__ = (
        "_ended",
        "elsewhere",
        "invalid_checksums",
        "invalid_magics",
        "invalid_sequences",
        "keyless_records",
        "reassignment_bytes_in",
        "reassignment_bytes_out",
        "replication_bytes_in",
        "replication_bytes_out",
        "topics",
    )

    def __init__(self) -> None:
        self.topics: dict[str, TopicTraffic] = {}
        self.elsewhere = TopicTraffic()
        """Requests for partitions that are not on this broker."""
        self._ended = TopicTraffic()  # the counters of topics that have left this broker
        self.replication_bytes_in = 0
        self.replication_bytes_out = 0
        self.reassignment_bytes_in = 0
        """The part of ``replication_bytes_in`` that goes to a replica which a reassignment adds."""
        self.reassignment_bytes_out = 0
        self.invalid_checksums = 0
        self.invalid_magics = 0
        self.invalid_sequences = 0
        """Batches with a wrong base offset, count of records, or sequence."""
        self.keyless_records = 0
        """Records without a key that a compacted topic refused."""

    def partition_came(self, topic: str) -> TopicTraffic:
        """The counters of ``topic``, for one more of its partitions."""
        traffic = self.topics.get(topic)
        if traffic is None:
            traffic = self.topics[topic] = TopicTraffic()
        traffic.partitions += 1
        return traffic

    def partition_left(self, topic: str) -> None:
        """A partition is not on this broker any more. Without its last one a topic's counters go into the sum."""
        traffic = self.topics.get(topic)
        if traffic is None:
            return
        traffic.partitions -= 1
        if traffic.partitions <= 0:
            del self.topics[topic]
            for name in _COUNTERS:
                setattr(self._ended, name, getattr(self._ended, name) + getattr(traffic, name))

    def replicated(self, size_bytes: int, *, is_reassignment: bool) -> None:
        """A fetch from a leader brought ``size_bytes`` for a partition."""
        self.replication_bytes_in += size_bytes
        if is_reassignment:
            self.reassignment_bytes_in += size_bytes

    def sent(self, traffic: TopicTraffic, size_bytes: int, *, to_follower: bool, is_reassignment: bool) -> None:
        """Records of the topic of ``traffic`` are in a fetch response."""
        if not to_follower:
            traffic.bytes_out += size_bytes
            return
        self.replication_bytes_out += size_bytes
        if is_reassignment:
            self.reassignment_bytes_out += size_bytes

    def count_refusal(self, traffic: TopicTraffic, error: Exception, size_bytes: int) -> None:
        """Count an append of ``size_bytes`` to the topic of ``traffic`` that failed with ``error``."""
        if not isinstance(error, _EXPECTED_ERRORS):
            traffic.failed_produce_requests += 1
        if isinstance(error, RecordTooLargeError):
            traffic.bytes_rejected += size_bytes
        elif isinstance(error, InvalidChecksumError):
            self.invalid_checksums += 1
        elif isinstance(error, InvalidMagicError):
            self.invalid_magics += 1
        elif isinstance(error, InvalidSequenceError):
            self.invalid_sequences += 1
        elif isinstance(error, InvalidRecordsError | InvalidTimestampsError):
            self.keyless_records += error.keyless_count

    def parts(self) -> list[TopicTraffic]:
        """All counters, whose sums are those of the broker. The sum of the topics that have left comes first: a topic
        that leaves while they are summed does not count twice."""
        return [self._ended, self.elsewhere, *self.topics.values()]
