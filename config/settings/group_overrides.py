"""Settings of a single group (KIP-848, KIP-932), and the broker settings that give their defaults."""

from ..checks import OneOf, at_least
from ..offset_reset import OffsetResetCheck
from ..setting import ACTED_ON, MEDIUM, PER_GROUP, Setting
from ..values import INT, STRING

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("consumer.heartbeat.interval.ms", INT, "5000", at_least(1), MEDIUM, PER_GROUP, ACTED_ON,
            "Heartbeat interval given to members.", synonyms=("group.consumer.heartbeat.interval.ms",)),
    Setting("consumer.session.timeout.ms", INT, "45000", at_least(1), MEDIUM, PER_GROUP, ACTED_ON,
            "Session timeout of members.", synonyms=("group.consumer.session.timeout.ms",)),
    Setting("share.auto.offset.reset", STRING, "latest", OffsetResetCheck(), MEDIUM, PER_GROUP, ACTED_ON,
            "Where a share group begins to read: earliest, latest, or by_duration:P1D for a day ago."),
    Setting("share.heartbeat.interval.ms", INT, "5000", at_least(1), MEDIUM, PER_GROUP, ACTED_ON,
            "Heartbeat interval given to members of a share group.", synonyms=("group.share.heartbeat.interval.ms",)),
    Setting("share.isolation.level", STRING, "read_uncommitted", OneOf("read_committed", "read_uncommitted"),
            MEDIUM, PER_GROUP, ACTED_ON,
            "Whether a share group reads the records of transactions only after their commit."),
    Setting("share.record.lock.duration.ms", INT, "30000", at_least(1000), MEDIUM, PER_GROUP, ACTED_ON,
            "How long a record stays locked for the member it was given to.",
            synonyms=("group.share.record.lock.duration.ms",)),
    Setting("share.session.timeout.ms", INT, "45000", at_least(1), MEDIUM, PER_GROUP, ACTED_ON,
            "Session timeout of members of a share group.", synonyms=("group.share.session.timeout.ms",)),
)
# fmt: on
