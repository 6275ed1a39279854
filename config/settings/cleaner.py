"""Settings of the log cleaner, which compacts topics."""

from ..checks import at_least, between
from ..setting import ACTED_ON, CLUSTER_WIDE, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, DOUBLE, INT, LONG
from .parts import COMPACTION_BUFFER

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("log.cleaner.backoff.ms", LONG, "15000", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Sleep of the cleaner when no log needs cleaning."),
    Setting("log.cleaner.dedupe.buffer.size", LONG, "134217728", None, MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Memory of all cleaner threads together for the newest offset of each key."),
    Setting("log.cleaner.delete.retention.ms", LONG, "86400000", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "How long compaction keeps tombstones and transaction markers."),
    Setting("log.cleaner.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Run the cleaner; without it compacted topics only grow."),
    Setting("log.cleaner.io.buffer.load.factor", DOUBLE, "0.9", None, MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Largest fill of the cleaner's map of keys."),
    Setting("log.cleaner.io.buffer.size", INT, "524288", at_least(0), MEDIUM, CLUSTER_WIDE, COMPACTION_BUFFER,
            "Memory of all cleaner threads together for reading and writing segments."),
    Setting("log.cleaner.io.max.bytes.per.second", DOUBLE, "1.7976931348623157E308", None, MEDIUM, CLUSTER_WIDE,
            ACTED_ON,
            "Average limit of the cleaner's reads and writes, in bytes a second."),
    Setting("log.cleaner.max.compaction.lag.ms", LONG, "9223372036854775807", at_least(1), MEDIUM, CLUSTER_WIDE,
            ACTED_ON,
            "Longest time a record may stay uncompacted."),
    Setting("log.cleaner.min.cleanable.ratio", DOUBLE, "0.5", between(0, 1), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Share of a log that must be uncompacted before it is cleaned."),
    Setting("log.cleaner.min.compaction.lag.ms", LONG, "0", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Time before a record may be compacted."),
    Setting("log.cleaner.threads", INT, "1", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Logs compacted at a time."),
)
# fmt: on
