"""Settings of metrics."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, LOW, READ_ONLY, Setting
from ..values import BOOLEAN, INT, LIST, LONG, STRING

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("auto.include.jmx.reporter", BOOLEAN, "true", None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("kafka.metrics.polling.interval.secs", INT, "10", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("kafka.metrics.reporters", LIST, "", None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("metric.reporters", LIST, "", None, LOW, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("metrics.num.samples", INT, "2", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("metrics.recording.level", STRING, "INFO", None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("metrics.sample.window.ms", LONG, "30000", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("telemetry.max.bytes", INT, "1048576", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
)
# fmt: on
