"""Settings of transactions and idempotent producers."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, HIGH, LOW, READ_ONLY, AppliesWhen, OwnDefault, Setting
from ..values import BOOLEAN, INT, SHORT

TRANSACTION_STATE_LOG_MIN_ISR = OwnDefault(
    "1",
    AppliesWhen.EMBEDDED_STORE,
    "a single broker is the whole ISR",
)
TRANSACTION_STATE_LOG_REPLICATION_FACTOR = OwnDefault(
    "1",
    AppliesWhen.EMBEDDED_STORE,
    "a single broker can hold one replica only",
)

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("producer.id.expiration.check.interval.ms", INT, "600000", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "How often expired producers are forgotten.", internal=True),
    Setting("producer.id.expiration.ms", INT, "86400000", at_least(1), LOW, CLUSTER_WIDE, ACTED_ON,
            "How long a silent producer's sequence numbers are remembered."),
    Setting("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, "10000", at_least(1), LOW, READ_ONLY,
            ACTED_ON,
            "How often to abort transactions that have timed out."),
    Setting("transaction.max.timeout.ms", INT, "900000", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Longest transaction timeout a producer may request."),
    Setting("transaction.partition.verification.enable", BOOLEAN, "true", None, LOW, CLUSTER_WIDE, ACTED_ON,
            "Ask the coordinator whether a partition is in the transaction before writing to it (KIP-890)."),
    Setting("transaction.remove.expired.transaction.cleanup.interval.ms", INT, "3600000", at_least(1), LOW, READ_ONLY,
            ACTED_ON,
            "How often to forget transactional ids that have expired."),
    Setting("transaction.state.log.load.buffer.size", INT, "5242880", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Bytes read at a time when a coordinator loads a partition of the transactions topic."),
    Setting("transaction.state.log.min.isr", INT, "2", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "min.insync.replicas of the transactions topic.", own_default=TRANSACTION_STATE_LOG_MIN_ISR),
    Setting("transaction.state.log.num.partitions", INT, "50", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Partitions of the transactions topic; do not change it once the topic exists."),
    Setting("transaction.state.log.replication.factor", SHORT, "3", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Replicas of the transactions topic; it is created once so many brokers are alive.",
            own_default=TRANSACTION_STATE_LOG_REPLICATION_FACTOR),
    Setting("transaction.state.log.segment.bytes", INT, "104857600", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Segment size of the transactions topic."),
    Setting("transactional.id.expiration.ms", INT, "604800000", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "How long an unused transactional id is remembered."),
)
# fmt: on
