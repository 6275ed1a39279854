"""Settings of the broker itself and of new topics."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, HIGH, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, INT, STRING
from .parts import BACKGROUND_THREADS

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("auto.create.topics.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, ACTED_ON,
            "Create a topic when a producer or consumer asks about one that is not there."),
    Setting("background.threads", INT, "10", at_least(1), HIGH, CLUSTER_WIDE, BACKGROUND_THREADS,
            "Threads for work that no request waits for: flushing, retention, checkpoints."),
    Setting("broker.id", INT, "-1", None, HIGH, READ_ONLY, ACTED_ON,
            "Number of this broker in the cluster; -1 lets one be generated above reserved.broker.max.id, and it "
            "stays in meta.properties."),
    Setting("broker.id.generation.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Allow a generated broker.id; when false, one must be set."),
    Setting("broker.rack", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "Name of the rack or zone this broker stands in, for placing replicas and for readers that prefer a "
            "near one."),
    Setting("delete.topic.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, ACTED_ON,
            "Let clients delete topics; when false, their requests are refused."),
    Setting("num.io.threads", INT, "8", at_least(1), HIGH, CLUSTER_WIDE, ACTED_ON,
            "Threads of the worker pool, which checks, writes and reads records."),
    Setting("num.partitions", INT, "1", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Partitions of a topic that is created without a number of them."),
    Setting("reserved.broker.max.id", INT, "1000", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "Highest broker.id that may be set by hand; generated ones begin above it."),
)
# fmt: on
