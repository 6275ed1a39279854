"""Settings of the newer group protocols (KIP-848, KIP-932). Kafka 3.9 serves them in KRaft mode only.

Their bounds are those of Kafka 4.2 where it takes more values than Kafka 3.9.
"""

from ..checks import OneOf, OneOfInAnyCase, at_least, between
from ..setting import ACTED_ON, MEDIUM, READ_ONLY, AppliesWhen, OwnDefault, Setting
from ..values import BOOLEAN, INT, LIST, SHORT, STRING
from .parts import NEW_GROUPS, SHARE_GROUP_COUNT, SHARE_SWITCH

MIGRATION_POLICY = OwnDefault(
    "bidirectional",
    AppliesWhen.ALWAYS,
    "as in Kafka 4",
)
MAX_RECORD_LOCKS = OwnDefault(
    "2000",
    AppliesWhen.ALWAYS,
    "as in Kafka 4",
)
PROTOCOLS = OwnDefault(
    "classic,consumer,share",
    AppliesWhen.EMBEDDED_STORE,
    "as in Kafka 4",
)

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("group.consumer.assignors", LIST,
            "org.apache.kafka.coordinator.group.assignor.UniformAssignor,"
            "org.apache.kafka.coordinator.group.assignor.RangeAssignor",
            None, MEDIUM, READ_ONLY, ACTED_ON,
            "Assignors that the coordinator runs, the first being the default."),
    Setting("group.consumer.heartbeat.interval.ms", INT, "5000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Heartbeat interval given to members."),
    Setting("group.consumer.max.heartbeat.interval.ms", INT, "15000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Longest heartbeat interval that may be set."),
    Setting("group.consumer.max.session.timeout.ms", INT, "60000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Longest session timeout that may be set."),
    Setting("group.consumer.max.size", INT, "2147483647", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Most members of a group."),
    Setting("group.consumer.migration.policy", STRING,
            "disabled", OneOfInAnyCase("DISABLED", "DOWNGRADE", "UPGRADE", "BIDIRECTIONAL"),
            MEDIUM, READ_ONLY, ACTED_ON,
            "Which groups with members may pass from one protocol to the other.", internal=True,
            own_default=MIGRATION_POLICY),
    Setting("group.consumer.min.heartbeat.interval.ms", INT, "5000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Shortest heartbeat interval that may be set."),
    Setting("group.consumer.min.session.timeout.ms", INT, "45000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Shortest session timeout that may be set."),
    Setting("group.consumer.session.timeout.ms", INT, "45000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Session timeout given to members."),
    Setting("group.coordinator.append.linger.ms", INT, "10", at_least(-1), MEDIUM, READ_ONLY, NEW_GROUPS,
            "Time for which the newer coordinator gathers writes."),
    Setting("group.coordinator.new.enable", BOOLEAN, "false", None, MEDIUM, READ_ONLY, NEW_GROUPS,
            "Run the newer coordinator.", internal=True),
    Setting("group.coordinator.rebalance.protocols", LIST,
            "classic", OneOf("consumer", "classic", "share", "streams"), MEDIUM, READ_ONLY, ACTED_ON,
            "Group protocols that are served: classic, consumer, share.", own_default=PROTOCOLS),
    Setting("group.coordinator.threads", INT, "1", at_least(1), MEDIUM, READ_ONLY, NEW_GROUPS,
            "Threads of the newer coordinator."),
    Setting("group.share.delivery.count.limit", INT, "5", between(2, 10), MEDIUM, READ_ONLY, ACTED_ON,
            "Deliveries of a record to a share group before it is given up."),
    Setting("group.share.enable", BOOLEAN, "false", None, MEDIUM, READ_ONLY, SHARE_SWITCH,
            "Serve share groups.", internal=True),
    Setting("group.share.heartbeat.interval.ms", INT, "5000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Heartbeat interval given to members of a share group."),
    Setting("group.share.max.groups", SHORT, "10", between(1, 100), MEDIUM, READ_ONLY, SHARE_GROUP_COUNT,
            "Most share groups."),
    Setting("group.share.max.heartbeat.interval.ms", INT, "15000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Longest heartbeat interval that may be set for share groups."),
    Setting("group.share.max.record.lock.duration.ms", INT, "60000", between(30000, 3600000), MEDIUM, READ_ONLY,
            ACTED_ON,
            "Longest lock on a record that may be set."),
    Setting("group.share.max.session.timeout.ms", INT, "60000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Longest session timeout that may be set for share groups."),
    Setting("group.share.max.size", SHORT, "200", between(1, 1000), MEDIUM, READ_ONLY, ACTED_ON,
            "Most members of a share group."),
    Setting("group.share.min.heartbeat.interval.ms", INT, "5000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Shortest heartbeat interval that may be set for share groups."),
    Setting("group.share.min.record.lock.duration.ms", INT, "15000", between(1000, 30000), MEDIUM, READ_ONLY,
            ACTED_ON,
            "Shortest lock on a record that may be set."),
    Setting("group.share.min.session.timeout.ms", INT, "45000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Shortest session timeout that may be set for share groups."),
    Setting("group.share.partition.max.record.locks", INT, "200", between(100, 10000), MEDIUM, READ_ONLY, ACTED_ON,
            "Records of a partition that a share group may hold locked.", own_default=MAX_RECORD_LOCKS),
    Setting("group.share.record.lock.duration.ms", INT, "30000", between(1000, 3600000), MEDIUM, READ_ONLY,
            ACTED_ON,
            "How long a record stays locked for the member it was given to."),
    Setting("group.share.session.timeout.ms", INT, "45000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Session timeout given to members of a share group."),
)
# fmt: on
