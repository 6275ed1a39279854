"""Settings of the broker itself and of new topics."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, HIGH, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, INT, STRING
from .parts import BACKGROUND_THREADS

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("auto.create.topics.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, ACTED_ON,
            "Create a missing topic when a client asks for its metadata."),
    Setting("background.threads", INT, "10", at_least(1), HIGH, CLUSTER_WIDE, BACKGROUND_THREADS,
            "Threads for work that no request waits for: flushing, retention, checkpoints."),
    Setting("broker.id", INT, "-1", None, HIGH, READ_ONLY, ACTED_ON,
            "Id of this broker in the cluster; -1: generated above reserved.broker.max.id and kept in "
            "meta.properties."),
    Setting("broker.id.generation.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Allow a generated broker.id; when false, one must be set."),
    Setting("broker.rack", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "Rack or zone of this broker, for placing replicas and for reading from near ones."),
    Setting("delete.topic.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, ACTED_ON,
            "Let clients delete topics; when false, their requests are refused."),
    Setting("num.io.threads", INT, "8", at_least(1), HIGH, CLUSTER_WIDE, ACTED_ON,
            "Worker threads that check, write and read records."),
    Setting("num.partitions", INT, "1", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Partitions of a topic created without a partition count."),
    Setting("reserved.broker.max.id", INT, "1000", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "Highest broker.id that may be set; generated ids begin above it."),
)
# fmt: on
