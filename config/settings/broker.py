"""Settings of the broker itself and of new topics."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, HIGH, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, INT, STRING

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("auto.create.topics.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("background.threads", INT, "10", at_least(1), HIGH, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("broker.id", INT, "-1", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("broker.id.generation.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("broker.rack", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("delete.topic.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("num.io.threads", INT, "8", at_least(1), HIGH, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("num.partitions", INT, "1", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("reserved.broker.max.id", INT, "1000", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
)
# fmt: on
