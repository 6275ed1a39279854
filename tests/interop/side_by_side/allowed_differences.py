"""The permanent differences from Kafka by scenario, each with its reason.

docs/operator/deviations.md describes them for users.

A pattern (fnmatch) is matched against `step: path`, and both values must equal the given ones, so that another error
code in the same place is not allowed. An entry that covers no difference fails the test.
"""

from fnmatch import fnmatchcase
from typing import NamedTuple

from interop.side_by_side.differences import ABSENT, Difference
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import LONG_AGO
from pybroker.config.settings import observing, own

__all__ = ["ALLOWED", "ANY", "BY_HEADER", "WALKED", "Allowed", "is_allowed_everywhere"]

OWN_NAMES = frozenset(setting.name for setting in (*own.SETTINGS, *observing.SETTINGS))


class _Anything:
    """Equal to every value, for long values whose path alone tells the difference."""

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


ANY = _Anything()


class Allowed(NamedTuple):
    """An allowed difference. `kafka` and `pybroker`: the two values."""

    pattern: str
    reason: str
    kafka: Json
    pybroker: Json

    def covers(self, difference: Difference) -> bool:
        same = self.kafka == difference.kafka and self.pybroker == difference.pybroker
        return same and fnmatchcase(difference.where, self.pattern)


BETWEEN_BROKERS = "one broker alone takes no orders from others"
NO_NUMBER = "a quota must be a number"
EXTRA = "an extra: Kafka offers it with KRaft only"
BY_HEADER = "pybroker.record.validation=header: records are not walked where they can be stored as they came"
WALKED = "pybroker.record.validation=full: the sizes in a record must be possible and add up"
STRICTER_RECORDS = "the sizes in a record must be possible and add up"
CLEARER = "Kafka fails by accident here; the code says what is wrong"
STRICTER = "Kafka takes an assignment that cannot work"
ASK_FOR_MORE = "the old client is told that it must ask for more, not left to hang"
NEGATIVE_IS_NONE = "a negative size or count is none"
SAYS_WHY = "it says why"
NO_ZOOKEEPER = "there is no ZooKeeper with the embedded store"
VERSION_2 = "a new embedded store has transaction version 2, as Kafka 4"
KEEPS_STATE = "groups would lose their offsets"
OWN_SETTING = "a setting of pybroker's own"

NO_TOPIC_ID = "A" * 22
FAILED, TEXT = "UNKNOWN_SERVER_ERROR", "some text"


def clearer(pattern: str, code: str, kafka: str = FAILED) -> list[Allowed]:
    """Allows an error of Kafka to be a more exact one. `pattern` ends before the field names of
    error code and message."""
    return [
        Allowed(f"{pattern}rrorCode", CLEARER, kafka, code),
        Allowed(f"{pattern}rrorMessage", CLEARER, None, TEXT),
    ]


def refused_by_pybroker(*notes: str, reason: str = STRICTER_RECORDS) -> list[Allowed]:
    return [Allowed(f"* ({note}): answer", reason, "NONE", "INVALID_RECORD") for note in notes]


def refused_by_kafka(*notes: str) -> list[Allowed]:
    return [Allowed(f"* ({note}): answer", BY_HEADER, "INVALID_RECORD", "NONE") for note in notes]


def read_all_the_same(steps: str, old: str) -> list[Allowed]:
    """Allows a fetch with a negative size: Kafka fails, pybroker answers as for size 0."""
    return [
        Allowed(f"{steps}: *.errorCode", NEGATIVE_IS_NONE, FAILED, "NONE"),
        Allowed(f"{steps}: *.highWatermark", NEGATIVE_IS_NONE, -1, 8),
        Allowed(f"{steps}: *.lastStableOffset", NEGATIVE_IS_NONE, -1, 8),
        Allowed(f"{steps}: *.logStartOffset", NEGATIVE_IS_NONE, -1, 0),
        Allowed(f"{steps}: *.records", NEGATIVE_IS_NONE, [], ANY),
    ] + ([Allowed(f"{old}: *.records", ASK_FOR_MORE, "none", "some")] if old else [])


ALLOWED: dict[str, list[Allowed]] = {
    "a_second_producer_fences_the_first": [
        Allowed(
            "23 DescribeTransactions v0: *.transactionStartTimeMs",
            "an Empty id has no transaction",
            "<now>",
            -1,
        )
    ],
    "api_versions": [
        *(
            Allowed(f"* apiKeys.{api}", BETWEEN_BROKERS, [0, version], ABSENT)
            for api, version in (
                ("LEADER_AND_ISR", 7),
                ("STOP_REPLICA", 4),
                ("UPDATE_METADATA", 8),
                ("CONTROLLED_SHUTDOWN", 3),
                ("ALTER_PARTITION", 3),
                ("ENVELOPE", 0),
                ("ALLOCATE_PRODUCER_IDS", 0),
            )
        ),
        Allowed("* apiKeys.DESCRIBE_TOPIC_PARTITIONS", EXTRA, ABSENT, [0, 0]),
        *(
            Allowed(f"* apiKeys.{api}.1", VERSION_2, version, version + 1)
            for api, version in (("PRODUCE", 11), ("END_TXN", 4), ("TXN_OFFSET_COMMIT", 4))
        ),
        Allowed("* supportedFeatures", VERSION_2, ANY, ANY),
        Allowed("* finalizedFeatures", VERSION_2, ANY, ANY),
    ],
    "api_versions_with_odd_software_names": [Allowed("* finalizedFeatures", VERSION_2, ANY, ANY)],
    "broken_bodies": [
        Allowed(
            "* (name that is no UTF-8): answer",
            "a garbled name would silently be another name",
            ANY,
            "the connection was closed",
        )
    ],
    "metadata_by_topic_id_and_name_at_once": [Allowed("* topics.*.errorCode", CLEARER, FAILED, "INVALID_REQUEST")],
    "create_topics_with_a_bad_assignment": [
        *(
            one
            for step in ("* ({0: [[]]})", "* ({0: [[]-1]})")
            for one in (
                Allowed(f"{step}: topics.0.errorCode", STRICTER, "REQUEST_TIMED_OUT", "INVALID_REPLICA_ASSIGNMENT"),
                Allowed(f"{step}: topics.0.errorMessage", STRICTER, None, TEXT),
            )
        ),
        *clearer("* ({-1: [[]0]}): topics.0.e", "INVALID_REPLICA_ASSIGNMENT"),
        Allowed("13 CreateTopics v7: topics.0.errorCode", STRICTER, "NONE", "INVALID_REPLICA_ASSIGNMENT"),
        Allowed("13 CreateTopics v7: topics.0.errorMessage", STRICTER, None, TEXT),
        Allowed("13 CreateTopics v7: topics.0.numPartitions", STRICTER, 1, -1),
        Allowed("13 CreateTopics v7: topics.0.replicationFactor", STRICTER, 1, -1),
        Allowed("13 CreateTopics v7: topics.0.configs", STRICTER, ANY, []),
        *(
            Allowed(f"{step} CreateTopics v7*: topics.0.topicId", "a topic more, or less", f"<topic {kafka}>", pybroker)
            for step, kafka, pybroker in (
                (1, 1, NO_TOPIC_ID),
                (2, 2, "<topic 1>"),
                (3, 3, "<topic 2>"),
                (5, 4, NO_TOPIC_ID),
                (13, 5, NO_TOPIC_ID),
            )
        ),
    ],
    "create_partitions_of_an_internal_topic": [
        Allowed("* CreatePartitions v3: results.0.errorCode", KEEPS_STATE, "NONE", "INVALID_PARTITIONS"),
        Allowed("* CreatePartitions v3: results.0.errorMessage", KEEPS_STATE, None, TEXT),
    ],
    "create_partitions_of_topics_that_are_not_there": clearer("* (''): results.0.e", "UNKNOWN_TOPIC_OR_PARTITION"),
    "delete_topics_named_wrongly": [
        Allowed(
            "2 DeleteTopics v6: responses.0.errorCode",
            CLEARER,
            "TOPIC_AUTHORIZATION_FAILED",
            "UNKNOWN_TOPIC_OR_PARTITION",
        )
    ],
    "produce_to_a_partition_twice_in_one_request": [
        Allowed(
            "2 Produce v9: answer", "Kafka forgets all but the last of them; here all are stored and answered", 1, 2
        )
    ],
    "produce_a_batch_with_odd_attributes": [
        Allowed("* (codec ?): responses.0.*.errorCode", CLEARER, FAILED, "UNSUPPORTED_COMPRESSION_TYPE")
    ],
    "produce_what_is_compressed_but_is_not": [Allowed("* responses.0.*.errorCode", CLEARER, FAILED, "INVALID_RECORD")],
    "produce_misshapen_records": [
        *refused_by_pybroker("header value of size -2", "key of size -2", "value of size -2"),
        Allowed("* (size of too many bytes): answer", CLEARER, FAILED, "INVALID_RECORD"),
    ],
    "produce_misshapen_records_in_compressed_batches": [
        *refused_by_kafka(
            *("null header name", "null header name and value", "null header name, empty value"),
            *("null second header name", "header name of size -2", "header name beyond the record"),
            *("header value beyond the record", "-1 headers", "more headers than bytes", "fewer headers than bytes"),
            *("key beyond the record", "value beyond the record", "bytes after the headers", "size of too many bytes"),
            *("timestamp of too many bytes", "offset of too many bytes", "key size of too many bytes"),
            *("header count of too many bytes", "header name size of too many bytes", "two records", "no record"),
        ),
        *refused_by_pybroker("header value of size -2", "key of size -2", "value of size -2", reason=WALKED),
        *refused_by_pybroker("size 0", "size -1", "size too small", "size too large", reason=WALKED),
    ],
    "produce_misshapen_records_to_a_compacted_topic": [
        *refused_by_pybroker("*: header value of size -2", "*: value of size -2"),
        *refused_by_pybroker("GZIP: size 0", "GZIP: size -1", "GZIP: size too small", "GZIP: size too large"),
        Allowed("* (NONE: size of too many bytes): answer", CLEARER, FAILED, "INVALID_RECORD"),
    ],
    "produce_a_wrong_maximal_timestamp": [
        Allowed(f"{step} Fetch v12: *.records.0.maxTimestamp", BY_HEADER, LONG_AGO + 1, timestamp)
        for step, timestamp in ((2, 0), (4, -1), (6, LONG_AGO + 10_000), (8, -5))
    ],
    "fetch_with_sizes": [
        Allowed("2 Fetch v2 (partition 1): *.records", ASK_FOR_MORE, "none", "some"),
        Allowed("3 Fetch v2 (partition 50): *.records", ASK_FOR_MORE, "none", "some"),
        *read_all_the_same("* (partition -1)", "16 Fetch v3 (partition -1)"),
        *read_all_the_same("* (in all -1*)", ""),
    ],
    "list_offsets_of_version_0_with_counts": [Allowed("* at most -1): *.errorCode", NEGATIVE_IS_NONE, FAILED, "NONE")],
    "list_offsets_of_the_latest_among_equal_timestamps": [
        Allowed("3 ListOffsets v7: *", "where no record has a timestamp none has the greatest", 0, -1)
    ],
    "find_coordinators_of_unknown_types": [
        Allowed(
            "* FindCoordinator v6 (type 2): *.errorCode",
            "share groups are not served: clients stop at once",
            "COORDINATOR_NOT_AVAILABLE",
            "UNSUPPORTED_VERSION",
        ),
        Allowed("* (type 2): *.errorMessage", SAYS_WHY, "", TEXT),
    ],
    "describe_configs_of_a_topic_in_every_version": [
        Allowed("1 DescribeConfigs v0: *.isDefault", "Kafka says of no setting that it is the default", False, True)
    ],
    "describe_some_configs_of_a_topic": [
        Allowed("* DescribeConfigs v0 *.isDefault", "Kafka says of no setting that it is the default", False, True)
    ],
    "describe_configs_of_the_broker": [
        Allowed("1 *.configs.zookeeper.connect.value", NO_ZOOKEEPER, "its own", None),
        Allowed("1 *.configs.zookeeper.connect.configSource", NO_ZOOKEEPER, 4, 5),
        Allowed("1 *.configs.zookeeper.connect.synonyms", NO_ZOOKEEPER, ANY, []),
        *(
            Allowed(f"1 *.configs.{name}.synonyms.1.value", "another default with the embedded store", kafka, pybroker)
            for name, kafka, pybroker in (
                ("group.initial.rebalance.delay.ms", "3000", "0"),
                ("group.coordinator.rebalance.protocols", "classic", "classic,consumer,share"),
                ("offsets.topic.replication.factor", "3", "1"),
                ("transaction.state.log.replication.factor", "3", "1"),
                ("transaction.state.log.min.isr", "2", "1"),
            )
        ),
        Allowed("1 *.configs.node.id.value", "a setting of KRaft; Kafka also gives it what broker.id has", "0", "-1"),
        Allowed("1 *.configs.node.id.configSource", "a setting of KRaft", 4, 5),
        Allowed(
            "1 *.configs.node.id.synonyms",
            "a setting of KRaft",
            [{"name": "node.id", "value": "0", "source": 4}, {"name": "node.id", "value": "-1", "source": 5}],
            [{"name": "node.id", "value": "-1", "source": 5}],
        ),
        Allowed("1 *.configs.queued.max.request.bytes.value", "requests are bounded by default", "-1", "268435456"),
        Allowed(
            "1 *.configs.queued.max.request.bytes.synonyms.0.value",
            "requests are bounded by default",
            "-1",
            "268435456",
        ),
        Allowed("1 *.configs.socket.listen.backlog.size.value", "the loop that serves also accepts", "50", "1024"),
        Allowed(
            "1 *.configs.socket.listen.backlog.size.synonyms.0.value",
            "the loop that serves also accepts",
            "50",
            "1024",
        ),
        *(
            Allowed(
                f"1 *.configs.socket.receive.buffer.bytes.{where}", "the system sizes it by default", "102400", "-1"
            )
            for where in ("value", "synonyms.0.value")
        ),
        *(
            Allowed(f"1 *.configs.group.share.partition.max.record.locks.{where}", "Kafka 4's default", "200", "2000")
            for where in ("value", "synonyms.0.value")
        ),
        *(
            Allowed(f"1 *.configs.{name}", "a setting of Kafka 4, for groups", ABSENT, ANY)
            for name in (
                "group.consumer.regex.refresh.interval.ms",
                "group.share.max.share.sessions",
                "share.coordinator.*",
            )
        ),
        *(Allowed(f"1 *.configs.{name}", OWN_SETTING, ABSENT, ANY) for name in sorted(OWN_NAMES)),
    ],
    "describe_configs_of_what_is_not_there": [Allowed("* results.0.errorMessage", SAYS_WHY, "", TEXT)],
    "alter_configs_of_the_broker": [
        Allowed(f"* ({{'listeners': *}} for 0): responses.0.e{field}", "that needs a restart here", kafka, pybroker)
        for field, kafka, pybroker in (("rrorCode", "NONE", "INVALID_REQUEST"), ("rrorMessage", None, TEXT))
    ],
    "change_lists": clearer("* ([[]([23], 'no.such.setting', '1')[]] *): responses.0.e", "INVALID_CONFIG"),
    "change_loggers": clearer("* ([[](9, 'root', 'INFO')[]] of '0'): responses.0.e", "INVALID_REQUEST"),
    "change_configs_wrongly": clearer("* ([[]([4-]*): responses.0.e", "INVALID_REQUEST"),
    "quotas_that_cannot_be_set": [
        Allowed("* nan): entries.0.errorCode", NO_NUMBER, "NONE", "INVALID_REQUEST"),
        Allowed("* nan): entries.0.errorMessage", NO_NUMBER, None, TEXT),
        *clearer("* ([[]('user', '.')[]] producer_byte_rate 1.0): entries.0.e", "INVALID_REQUEST"),
        *clearer("* ([[]*('client-id', '..')[]] producer_byte_rate 1.0): entries.0.e", "INVALID_REQUEST"),
    ],
    "describe_topic_partitions": [Allowed("* answer", EXTRA, "the connection was closed", ANY)],
}


def is_allowed_everywhere(difference: Difference) -> bool:
    """Allows a produce error message that Kafka leaves out."""
    where = difference.where
    return " Produce v" in where and where.endswith(".errorMessage") and difference.kafka is None
