"""Settings of quotas."""

from ..checks import at_least
from ..setting import ACTED_ON, LOW, READ_ONLY, Setting
from ..values import CLASS, INT

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("alter.log.dirs.replication.quota.window.num", INT, "11", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("alter.log.dirs.replication.quota.window.size.seconds", INT, "1", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("client.quota.callback.class", CLASS, None, None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("controller.quota.window.num", INT, "11", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("controller.quota.window.size.seconds", INT, "1", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("quota.window.num", INT, "11", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("quota.window.size.seconds", INT, "1", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("replication.quota.window.num", INT, "11", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("replication.quota.window.size.seconds", INT, "1", at_least(1), LOW, READ_ONLY, ACTED_ON,
            "."),
)
# fmt: on
