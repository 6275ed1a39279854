"""Settings of quotas."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, LOW, MEDIUM, READ_ONLY, Setting
from ..values import CLASS, INT, LONG
from .parts import MOVE_WINDOWS, QUOTA_CALLBACK

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("alter.log.dirs.replication.quota.window.num", INT, "11", at_least(1), LOW, READ_ONLY, MOVE_WINDOWS,
            "Windows of time kept for measuring moves between log directories."),
    Setting("alter.log.dirs.replication.quota.window.size.seconds", INT, "1", at_least(1), LOW, READ_ONLY, MOVE_WINDOWS,
            "Length of a window for measuring moves between log directories."),
    Setting("client.quota.callback.class", CLASS, None, None, LOW, READ_ONLY, QUOTA_CALLBACK,
            "Java class that decides clients' quotas."),
    Setting("controller.quota.window.num", INT, "11", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "Windows of time kept for measuring topic changes."),
    Setting("controller.quota.window.size.seconds", INT, "1", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "Length of a window for measuring topic changes."),
    Setting("quota.window.num", INT, "11", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "Windows of time kept for measuring clients."),
    Setting("quota.window.size.seconds", INT, "1", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "Length of a window for measuring clients."),
    Setting("replication.quota.window.num", INT, "11", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "Windows of time kept for measuring replication."),
    Setting("replication.quota.window.size.seconds", INT, "1", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "Length of a window for measuring replication."),
)
# Kafka takes these while it runs (``QuotaConfigs.brokerQuotaConfigs``), never from its file.
DYNAMIC_ONLY = (
    Setting("follower.replication.throttled.rate", LONG, "9223372036854775807", at_least(0), MEDIUM, CLUSTER_WIDE,
            ACTED_ON,
            "Bytes a second that throttled replicas on this broker fetch from their leaders."),
    Setting("leader.replication.throttled.rate", LONG, "9223372036854775807", at_least(0), MEDIUM, CLUSTER_WIDE,
            ACTED_ON,
            "Bytes a second that this broker, as leader, sends to throttled replicas."),
    Setting("replica.alter.log.dirs.io.max.bytes.per.second", LONG, "9223372036854775807", at_least(0), MEDIUM,
            CLUSTER_WIDE, ACTED_ON,
            "Bytes a second for moving replicas between this broker's log directories."),
)
# fmt: on
