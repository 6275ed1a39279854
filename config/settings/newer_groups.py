"""Settings of groups and of the share coordinator (KIP-848, KIP-932) that the table of Kafka 3.9 lacks."""

from ..checks import at_least
from ..setting import ACTED_ON, HIGH, LOW, MEDIUM, READ_ONLY, AppliesWhen, OwnDefault, Setting
from ..values import INT, SHORT

_MIN_ISR = OwnDefault("1", AppliesWhen.EMBEDDED_STORE, "a single broker is the whole ISR")
_REPLICATION_FACTOR = OwnDefault("1", AppliesWhen.EMBEDDED_STORE, "a single broker can hold one replica only")

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("group.consumer.regex.refresh.interval.ms", INT, "600000", at_least(10000), MEDIUM, READ_ONLY, ACTED_ON,
            "How old the topics that match a pattern of a consumer group may become."),
    Setting("group.share.max.share.sessions", INT, "2000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Most share sessions: members of share groups that fetch from this broker."),
    Setting("share.coordinator.cold.partition.snapshot.interval.ms", INT, "300000", at_least(1), LOW, READ_ONLY,
            ACTED_ON,
            "How old the last record with the whole state of a share partition becomes.", internal=True),
    Setting("share.coordinator.load.buffer.size", INT, "5242880", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Bytes read at a time when a coordinator loads a partition of the share group state topic."),
    Setting("share.coordinator.snapshot.update.records.per.snapshot", INT, "500", at_least(0), MEDIUM, READ_ONLY,
            ACTED_ON,
            "Changes of a share partition between two records with its whole state."),
    Setting("share.coordinator.state.topic.min.isr", SHORT, "2", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "min.insync.replicas of the share group state topic.", own_default=_MIN_ISR),
    Setting("share.coordinator.state.topic.num.partitions", INT, "50", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Partitions of the share group state topic; do not change it once the topic exists."),
    Setting("share.coordinator.state.topic.prune.interval.ms", INT, "300000", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "How often old records of the share group state topic are deleted.", internal=True),
    Setting("share.coordinator.state.topic.replication.factor", SHORT, "3", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Replicas of the share group state topic; it is created once so many brokers are alive.",
            own_default=_REPLICATION_FACTOR),
    Setting("share.coordinator.state.topic.segment.bytes", INT, "104857600", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Segment size of the share group state topic."),
    Setting("share.coordinator.write.timeout.ms", INT, "5000", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "How long a change of a share partition waits for the replicas of the share group state topic."),
)
# fmt: on
