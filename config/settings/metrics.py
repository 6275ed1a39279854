"""Settings of metrics."""

from ..checks import at_least
from ..setting import CLUSTER_WIDE, LOW, READ_ONLY, Setting
from ..values import BOOLEAN, INT, LIST, LONG, STRING
from .parts import CLIENT_TELEMETRY, JMX, METRICS

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("auto.include.jmx.reporter", BOOLEAN, "true", None, LOW, READ_ONLY, JMX,
            "Show metrics over JMX even where metric.reporters does not name it."),
    Setting("kafka.metrics.polling.interval.secs", INT, "10", at_least(1), LOW, READ_ONLY, JMX,
            "How often the reporters of kafka.metrics.reporters are asked."),
    Setting("kafka.metrics.reporters", LIST, "", None, LOW, READ_ONLY, JMX,
            "Java classes that report the older kind of metrics."),
    Setting("metric.reporters", LIST, "", None, LOW, CLUSTER_WIDE, JMX,
            "Java classes that report metrics."),
    Setting("metrics.num.samples", INT, "2", at_least(1), LOW, READ_ONLY, METRICS,
            "Samples kept for a metric."),
    Setting("metrics.recording.level", STRING, "INFO", None, LOW, READ_ONLY, METRICS,
            "Highest level of detail of the metrics that are recorded."),
    Setting("metrics.sample.window.ms", LONG, "30000", at_least(1), LOW, READ_ONLY, METRICS,
            "Time that one sample of a metric covers."),
    Setting("telemetry.max.bytes", INT, "1048576", at_least(1), LOW, READ_ONLY, CLIENT_TELEMETRY,
            "Largest report of a client's own metrics that is taken (KIP-714)."),
)
# fmt: on
