"""Converts responses to JSON values, so that those of two brokers can be compared.

Values that may differ are replaced by names, numbered by first appearance. So the comparison still sees *which* member
leads, and whether two ids are the same.
"""

import re
import time
from collections.abc import Callable
from typing import Any

from pybroker.protocol.codec.json_form import to_json
from pybroker.protocol.codec.wire import Message
from pybroker.protocol.errors import ErrorCode, KafkaError
from pybroker.protocol.messages.fetch import FetchResponse
from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.record import read_records

__all__ = ["Json", "PlainForm", "See"]

Json = Any
See = Callable[[Json], Json]
"""Returns the part of a response that is compared, without values that depend on other scenarios or on chance."""

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_MEMBER_ID = re.compile(rf"[\w-]{{22}}|{_UUID.pattern}")  # as brokers make them for the consumer protocol
_NULL_TOPIC_ID = "A" * 22
_CLOCK_WINDOW_MS = 600_000
_MESSAGES = {"errorMessage", "batchIndexErrorMessage", "acknowledgeErrorMessage"}
_IDS = {"topicId", "memberId"}
# Lists whose order has no meaning; in Kafka it is that of a hash map.
_UNORDERED = {
    "MetadataResponse": {"topics", "partitions"},
    "ElectLeadersResponse": {"replicaElectionResults", "partitionResult"},
    "ListGroupsResponse": {"groups"},
    "DescribeGroupsResponse": {"members"},
    "ConsumerGroupHeartbeatResponse": {"topicPartitions", "partitions"},
    "ConsumerGroupDescribeResponse": {"groups", "members", "topicPartitions", "partitions"},
    "ShareGroupHeartbeatResponse": {"topicPartitions", "partitions"},
    "ShareGroupDescribeResponse": {"groups", "members", "topicPartitions", "partitions", "subscribedTopicNames"},
    "ShareFetchResponse": {"responses", "partitions"},
    "ShareAcknowledgeResponse": {"responses", "partitions"},
    "InitializeShareGroupStateResponse": {"results"},
    "DescribeShareGroupOffsetsResponse": {"topics", "partitions"},
    "AlterShareGroupOffsetsResponse": {"responses", "partitions"},
    "DeleteShareGroupOffsetsResponse": {"responses"},
    "JoinGroupResponse": {"members"},
    "CreateTopicsResponse": {"topics", "configs"},
    "DeleteTopicsResponse": {"responses"},
    "OffsetFetchResponse": {"topics", "partitions"},
    "ProduceResponse": {"responses", "partitionResponses"},
    "OffsetCommitResponse": {"partitions"},
    "OffsetDeleteResponse": {"partitions"},
    "DeleteGroupsResponse": {"results"},
    "DescribeConfigsResponse": {"configs", "results"},
    "DescribeLogDirsResponse": {"topics", "partitions"},
    "CreatePartitionsResponse": {"results"},
    "DeleteRecordsResponse": {"topics", "partitions"},
    "AlterReplicaLogDirsResponse": {"results", "partitions"},
    "AlterPartitionReassignmentsResponse": {"responses", "partitions"},
    "DescribeUserScramCredentialsResponse": {"results"},
    "AlterUserScramCredentialsResponse": {"results"},
    "UpdateFeaturesResponse": {"results"},
    "AddPartitionsToTxnResponse": {"resultsByTopicV3AndBelow", "resultsByPartition", "topicResults"},
    "DescribeTransactionsResponse": {"topics", "partitions"},
    "DescribeProducersResponse": {"activeProducers"},
    "ListTransactionsResponse": {"transactionStates"},
    "AlterClientQuotasResponse": {"entity"},
    "DescribeClientQuotasResponse": {"entries", "entity", "values"},
    "ApiVersionsResponse": {"apiKeys", "finalizedFeatures", "supportedFeatures"},
}


class PlainForm:
    """Converts the responses of one conversation. `address`: the broker's."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._host, self._port = address
        self._names: dict[str, dict[object, str]] = {}

    def of(self, message: Message, version: int, see: See | None = None) -> Json:
        if isinstance(message, FetchResponse):
            fetched = self._fetch(message, version)
            return fetched if see is None else see(fetched)
        plain = to_json(message, version)
        unordered: frozenset[str] | set[str] = _UNORDERED.get(type(message).__name__, frozenset())
        return self._named(plain if see is None else see(plain), unordered)

    def _fetch(self, message: FetchResponse, version: int) -> Json:
        records = [[self._records(partition.records) for partition in topic.partitions] for topic in message.responses]
        for topic in message.responses:
            for partition in topic.partitions:
                partition.records = None
        plain = self._named(to_json(message, version), frozenset())
        for topic, sets in zip(plain["responses"], records, strict=True):
            for partition, record_set in zip(topic["partitions"], sets, strict=True):
                partition["records"] = record_set
        return plain

    def _records(self, records: Any) -> Json:
        if records is None:
            return None
        batches = [self._batch(batch) for batch in iter_batches(records)]
        left = len(records) - sum(batch.size_bytes for batch in iter_batches(records))
        return batches if left == 0 else [*batches, "and the beginning of another"]

    def _batch(self, batch: RecordBatch) -> Json:
        plain: dict[str, Json] = {
            "magic": batch.magic,
            "crc": "valid" if batch.is_valid_crc() else "wrong",
            "attributes": batch.attributes,
            "baseOffset": batch.base_offset,
            "records": self._records_of(batch),
        }
        if batch.magic == 2:
            plain |= {
                "lastOffset": batch.last_offset,
                "leaderEpoch": batch.partition_leader_epoch,
                "baseTimestamp": self._timestamp(batch.base_timestamp),
                "maxTimestamp": self._timestamp(batch.max_timestamp),
                "producerId": self._name("producer", batch.producer_id) if batch.producer_id >= 0 else -1,
                "producerEpoch": batch.producer_epoch,
                "baseSequence": batch.base_sequence,
            }
        return plain

    def _records_of(self, batch: RecordBatch) -> Json:
        try:
            return [
                {
                    "offset": record.offset,
                    "timestamp": self._timestamp(record.timestamp_ms),
                    "key": _text(record.key),
                    "value": _text(record.value),
                    "headers": [[name, _text(value)] for name, value in record.headers],
                }
                for record in read_records(batch)
            ]
        except KafkaError as error:
            return error.code.name

    # -- names for what may differ

    def _named(self, value: Json, unordered: frozenset[str] | set[str], field: str = "") -> Json:
        if isinstance(value, dict):
            return {
                name: self._named(item, unordered, name) for name, item in value.items() if name != "throttleTimeMs"
            }
        if isinstance(value, list):
            if field not in unordered:
                return [self._named(item, unordered, field) for item in value]
            # Sorted before ids have names, so that names follow from the other fields; and after, for equal elements.
            return sorted((self._named(item, unordered, field) for item in sorted(value, key=_sort_key)), key=repr)
        return self._scalar(field, value)

    def _scalar(self, field: str, value: Json) -> Json:
        if field in RULES:
            return RULES[field](self, value)
        if field in _MESSAGES:
            return "some text" if value else value
        return self._without_uuids(value)

    def _without_uuids(self, value: Json) -> Json:
        if isinstance(value, str):
            return _UUID.sub(lambda match: self._name("uuid", match[0]), value)
        return value

    def _name(self, kind: str, value: object) -> str:
        names = self._names.setdefault(kind, {})
        return names.setdefault(value, f"<{kind} {len(names) + 1}>")

    def _timestamp(self, value: int) -> Json:
        """Returns the timestamp, or a name for the broker's clock; scenarios use times far from now "
        "(see `LONG_AGO`)."""
        return "<now>" if abs(value - time.time() * 1000) < _CLOCK_WINDOW_MS else value

    def _error_code(self, value: int) -> Json:
        return ErrorCode(value).name

    def _host_name(self, value: str) -> Json:
        return "<broker>" if value == self._host else value

    def _port_number(self, value: int) -> Json:
        return "<port>" if value == self._port else value

    def _topic_id(self, value: str) -> Json:
        return value if value == _NULL_TOPIC_ID else self._name("topic", value)

    def _member_id(self, value: str | None) -> Json:
        is_by_broker = value is not None and _MEMBER_ID.fullmatch(value)
        return self._name("member", value) if is_by_broker else self._without_uuids(value)

    def _session_id(self, value: int) -> Json:
        return self._name("session", value) if value > 0 else value

    def _producer_id(self, value: int) -> Json:
        return self._name("producer", value) if value >= 0 else value

    def _cluster_id(self, value: str | None) -> Json:
        return "<cluster>" if value else value


RULES: dict[str, Callable[[PlainForm, Any], Json]] = {
    "errorCode": PlainForm._error_code,
    "topicConfigErrorCode": PlainForm._error_code,
    "host": PlainForm._host_name,
    "port": PlainForm._port_number,
    "topicId": PlainForm._topic_id,
    "memberId": PlainForm._member_id,
    "sessionId": PlainForm._session_id,
    "producerId": PlainForm._producer_id,
    "clusterId": PlainForm._cluster_id,
    "logAppendTimeMs": PlainForm._timestamp,
    "timestamp": PlainForm._timestamp,
    "lastTimestamp": PlainForm._timestamp,
    "transactionStartTimeMs": PlainForm._timestamp,
    "partitionErrorCode": PlainForm._error_code,
    "acknowledgeErrorCode": PlainForm._error_code,
}


def _sort_key(item: Json) -> str:
    """Sort key without ids, which are random."""
    return repr([pair for pair in item.items() if pair[0] not in _IDS] if isinstance(item, dict) else item)


def _text(data: bytes | None) -> str | None:
    return None if data is None else bytes(data).decode("latin-1")
