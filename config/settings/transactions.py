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

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("producer.id.expiration.check.interval.ms", INT, "600000", at_least(1), LOW, READ_ONLY, ACTED_ON,
            ".", internal=True),
    Setting("producer.id.expiration.ms", INT, "86400000", at_least(1), LOW, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("transaction.abort.timed.out.transaction.cleanup.interval.ms", INT, "10000", at_least(1), LOW, READ_ONLY,
            ACTED_ON,
            "."),
    Setting("transaction.max.timeout.ms", INT, "900000", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("transaction.partition.verification.enable", BOOLEAN, "true", None, LOW, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("transaction.remove.expired.transaction.cleanup.interval.ms", INT, "3600000", at_least(1), LOW, READ_ONLY,
            ACTED_ON,
            "."),
    Setting("transaction.state.log.load.buffer.size", INT, "5242880", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("transaction.state.log.min.isr", INT, "2", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            ".", own_default=TRANSACTION_STATE_LOG_MIN_ISR),
    Setting("transaction.state.log.num.partitions", INT, "50", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("transaction.state.log.replication.factor", SHORT, "3", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            ".", own_default=TRANSACTION_STATE_LOG_REPLICATION_FACTOR),
    Setting("transaction.state.log.segment.bytes", INT, "104857600", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("transactional.id.expiration.ms", INT, "604800000", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "."),
)
# fmt: on
