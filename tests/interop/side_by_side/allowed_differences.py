"""The differences that stay, by scenario, each with its reason; docs/deviations.md tells users of them.

A pattern (of fnmatch) is held against ``step: path``. The lists only shrink: a pattern that finds no difference any
more fails the test.
"""

from typing import NamedTuple

from interop.side_by_side.differences import Difference

__all__ = ["ALLOWED", "Allowed", "is_allowed_everywhere"]


class Allowed(NamedTuple):
    pattern: str
    reason: str


BETWEEN_BROKERS = "one broker alone takes no orders from others"
NOT_BUILT = "transactions are not served"
EXTRA = "an extra: Kafka offers it with KRaft only"
BY_HEADER = "pybroker.record.validation=header: records are not walked where they can be stored as they came"
CLEARER = "Kafka fails by accident here; the code says what is wrong"
STRICTER = "Kafka takes an assignment that cannot work"

ALLOWED: dict[str, list[Allowed]] = {
    "api_versions": [
        *(
            Allowed(f"* apiKeys.{api}", BETWEEN_BROKERS)
            for api in (
                "LEADER_AND_ISR",
                "STOP_REPLICA",
                "UPDATE_METADATA",
                "CONTROLLED_SHUTDOWN",
                "ALTER_PARTITION",
                "ENVELOPE",
                "ALLOCATE_PRODUCER_IDS",
            )
        ),
        Allowed("* apiKeys.WRITE_TXN_MARKERS", NOT_BUILT),
        Allowed("* apiKeys.DESCRIBE_TOPIC_PARTITIONS", EXTRA),
    ],
    "broken_bodies": [Allowed("* (name that is no UTF-8): answer", "a garbled name would silently be another name")],
    "metadata_by_topic_id_and_name_at_once": [Allowed("* topics.*.errorCode", CLEARER)],
    "create_topics_with_a_bad_assignment": [
        Allowed("* ({0: [[]]}): topics.0.*", STRICTER),
        Allowed("* ({0: [[]-1]}): topics.0.*", STRICTER),
        Allowed("* ({-1: [[]0]}): topics.0.*", CLEARER),
        Allowed("13 CreateTopics v7: topics.0.*", STRICTER),
        Allowed("* topics.0.topicId", "of one topic more or less"),
    ],
    "delete_topics_named_wrongly": [Allowed("2 DeleteTopics v6: responses.0.errorCode", CLEARER)],
    "produce_to_a_partition_twice_in_one_request": [
        Allowed("2 Produce v9: answer", "Kafka forgets all but the last of them; here all are stored and answered")
    ],
    "produce_a_batch_with_odd_attributes": [Allowed("* (codec ?): responses.0.*.errorCode", CLEARER)],
    "produce_what_is_compressed_but_is_not": [Allowed("* responses.0.*.errorCode", CLEARER)],
    "produce_broken_records": [Allowed("*", BY_HEADER)],
    "produce_a_wrong_maximal_timestamp": [Allowed("5 Fetch v12: *.records", BY_HEADER)],
    "fetch_with_sizes": [
        Allowed("* (partition 1): *.records", "the old client is told that it must ask for more, not left to hang"),
        Allowed("* (partition 50): *.records", "the old client is told that it must ask for more, not left to hang"),
        Allowed("* (partition -1): *", "a negative size is none"),
        Allowed("* (in all -1*): *", "a negative size is none"),
    ],
    "list_offsets_of_version_0_with_counts": [Allowed("* at most -1): *.errorCode", "a negative count is none")],
    "list_offsets_of_the_latest_among_equal_timestamps": [
        Allowed("3 ListOffsets v7: *", "where no record has a timestamp none has the greatest")
    ],
    "find_coordinators_of_unknown_types": [
        Allowed("* FindCoordinator v6 (type 2): *.errorCode", "share groups are not served: clients stop at once"),
        Allowed("* (type 2): *.errorMessage", "it says why"),
    ],
    "describe_configs_of_a_topic_in_every_version": [
        Allowed("1 DescribeConfigs v0: *.isDefault", "Kafka says of no setting that it is the default")
    ],
    "describe_some_configs_of_a_topic": [
        Allowed("* DescribeConfigs v0 *.isDefault", "Kafka says of no setting that it is the default")
    ],
    "describe_configs_of_the_broker": [
        Allowed("1 *.configs.zookeeper.connect.*", "there is no ZooKeeper with the embedded store"),
        *(
            Allowed(f"1 *.configs.{name}.synonyms.1.value", "another default with the embedded store")
            for name in (
                "group.initial.rebalance.delay.ms",
                "offsets.topic.replication.factor",
                "transaction.state.log.replication.factor",
                "transaction.state.log.min.isr",
            )
        ),
        Allowed("1 *.configs.node.id.*", "a setting of KRaft; Kafka also gives it what broker.id has"),
        Allowed("1 *.configs.queued.max.request.bytes.*", "requests are bounded by default"),
        Allowed("1 *.configs.metadata.store.path", "a setting of pybroker's own"),
        Allowed("1 *.configs.pybroker.record.validation", "a setting of pybroker's own"),
    ],
    "describe_configs_of_what_is_not_there": [Allowed("* results.0.errorMessage", "it says why")],
    "change_configs_wrongly": [Allowed("* ([[]([4-]*): responses.0.*", CLEARER)],
    "create_partitions_wrongly": [Allowed("* (''): results.0.*", CLEARER)],
    "reassign_partitions": [
        Allowed("14 Metadata v9: *.leaderEpoch", "a reassignment to the replicas that it has raises no leader epoch")
    ],
    "quotas_that_cannot_be_set": [Allowed("* entries.0.errorCode", "quotas are not built")],
}


def is_allowed_everywhere(difference: Difference) -> bool:
    """Produce may say more of why it refuses a batch than Kafka, which often has no message."""
    where = difference.where
    return " Produce v" in where and where.endswith(".errorMessage") and difference.kafka is None
