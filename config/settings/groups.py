"""Settings of consumer groups and their offsets."""

from ..checks import at_least
from ..setting import ACTED_ON, HIGH, MEDIUM, READ_ONLY, AppliesWhen, OwnDefault, Setting
from ..values import INT, LONG, SHORT

GROUP_INITIAL_REBALANCE_DELAY_MS = OwnDefault(
    "0",
    AppliesWhen.EMBEDDED_STORE,
    "tests should not wait for partitions",
)
OFFSETS_TOPIC_REPLICATION_FACTOR = OwnDefault(
    "1",
    AppliesWhen.EMBEDDED_STORE,
    "a single broker can hold one replica only",
)

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("group.initial.rebalance.delay.ms", INT, "3000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Time that an empty group waits for more members before its first rebalance.",
            own_default=GROUP_INITIAL_REBALANCE_DELAY_MS),
    Setting("group.max.session.timeout.ms", INT, "1800000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Longest session timeout a member may request."),
    Setting("group.max.size", INT, "2147483647", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Most members of a group."),
    Setting("group.min.session.timeout.ms", INT, "6000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Shortest session timeout a member may request."),
    Setting("offset.metadata.max.bytes", INT, "4096", None, HIGH, READ_ONLY, ACTED_ON,
            "Longest text a consumer may store with an offset."),
    Setting("offsets.commit.required.acks", SHORT, "-1", None, HIGH, READ_ONLY, ACTED_ON,
            "Acknowledgements that an offset commit waits for."),
    Setting("offsets.commit.timeout.ms", INT, "5000", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "How long an offset commit waits for replicas."),
    Setting("offsets.load.buffer.size", INT, "5242880", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Bytes read at a time when a coordinator loads a partition of the offsets topic."),
    Setting("offsets.retention.check.interval.ms", LONG, "600000", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "How often expired offsets are removed."),
    Setting("offsets.retention.minutes", INT, "10080", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "How long offsets are kept after their group has become empty."),
    Setting("offsets.topic.compression.codec", INT, "0", None, HIGH, READ_ONLY, ACTED_ON,
            "Codec of the offsets topic by its number: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd."),
    Setting("offsets.topic.num.partitions", INT, "50", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Partitions of the offsets topic; do not change it once the topic exists."),
    Setting("offsets.topic.replication.factor", SHORT, "3", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Replicas of the offsets topic; it is created once so many brokers are alive.",
            own_default=OFFSETS_TOPIC_REPLICATION_FACTOR),
    Setting("offsets.topic.segment.bytes", INT, "104857600", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Segment size of the offsets topic."),
)
# fmt: on
