"""Settings of the log cleaner, which compacts topics."""

from ..checks import at_least, between
from ..setting import ACTED_ON, CLUSTER_WIDE, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, DOUBLE, INT, LONG

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("log.cleaner.backoff.ms", LONG, "15000", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("log.cleaner.dedupe.buffer.size", LONG, "134217728", None, MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("log.cleaner.delete.retention.ms", LONG, "86400000", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("log.cleaner.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("log.cleaner.io.buffer.load.factor", DOUBLE, "0.9", None, MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("log.cleaner.io.buffer.size", INT, "524288", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("log.cleaner.io.max.bytes.per.second", DOUBLE, "1.7976931348623157E308", None, MEDIUM, CLUSTER_WIDE,
            ACTED_ON,
            "."),
    Setting("log.cleaner.max.compaction.lag.ms", LONG, "9223372036854775807", at_least(1), MEDIUM, CLUSTER_WIDE,
            ACTED_ON,
            "."),
    Setting("log.cleaner.min.cleanable.ratio", DOUBLE, "0.5", between(0, 1), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("log.cleaner.min.compaction.lag.ms", LONG, "0", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("log.cleaner.threads", INT, "1", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
)
# fmt: on
