"""Settings of the log cleaner, which compacts topics."""

from ..checks import at_least, between
from ..setting import ACTED_ON, CLUSTER_WIDE, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, DOUBLE, INT, LONG
from .parts import COMPACTION_BUFFER

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("log.cleaner.backoff.ms", LONG, "15000", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Sleep of the cleaner when no log needs it."),
    Setting("log.cleaner.dedupe.buffer.size", LONG, "134217728", None, MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Memory of all cleaner threads together for the newest offset of each key."),
    Setting("log.cleaner.delete.retention.ms", LONG, "86400000", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "How long a tombstone or a transaction's marker outlives the compaction that met it."),
    Setting("log.cleaner.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Run the cleaner; without it compacted topics only grow."),
    Setting("log.cleaner.io.buffer.load.factor", DOUBLE, "0.9", None, MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "How full the cleaner's map of keys may get."),
    Setting("log.cleaner.io.buffer.size", INT, "524288", at_least(0), MEDIUM, CLUSTER_WIDE, COMPACTION_BUFFER,
            "Memory of all cleaner threads together for reading and writing segments."),
    Setting("log.cleaner.io.max.bytes.per.second", DOUBLE, "1.7976931348623157E308", None, MEDIUM, CLUSTER_WIDE,
            ACTED_ON,
            "Bytes a second, read and written together, that the cleaner keeps below on average."),
    Setting("log.cleaner.max.compaction.lag.ms", LONG, "9223372036854775807", at_least(1), MEDIUM, CLUSTER_WIDE,
            ACTED_ON,
            "Longest time a record may stay uncompacted."),
    Setting("log.cleaner.min.cleanable.ratio", DOUBLE, "0.5", between(0, 1), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Share of a log that must be uncompacted before it is worth a run."),
    Setting("log.cleaner.min.compaction.lag.ms", LONG, "0", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Time during which a record is safe from compaction."),
    Setting("log.cleaner.threads", INT, "1", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Logs compacted at a time."),
)
# fmt: on
