"""pybroker's settings of metrics and of what else it shows of itself."""

from ..checks import IsPattern, OneOf, at_least
from ..setting import ACTED_ON, LOW, READ_ONLY, Setting
from ..values import INT, LIST, STRING

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("pybroker.metrics.detail", STRING, "partition", OneOf("broker", "topic", "partition"), LOW, READ_ONLY,
            ACTED_ON, "The finest series that /metrics gives; sums over partitions and topics stay."),
    Setting("pybroker.metrics.exclude", STRING, "", IsPattern(), LOW, READ_ONLY,
            ACTED_ON, "Series that /metrics leaves out: the expression must match the whole name."),
    Setting("pybroker.metrics.max.series", INT, "500000", at_least(0), LOW, READ_ONLY,
            ACTED_ON, "Series of one scrape. The default is enough for 10,000 topics of one partition with one group. "
            "Beyond it the series of partitions that no stock board reads are left out first, then others of "
            "partitions, then those of topics."),
    Setting("pybroker.metrics.names", LIST, "jmx,exporter,lag,own", OneOf("jmx", "exporter", "lag", "own"), LOW,
            READ_ONLY, ACTED_ON, "Names that /metrics gives: those of the JMX exporter with Strimzi's rules, of "
            "kafka_exporter, of kafka-lag-exporter, and pybroker's own."),
)
