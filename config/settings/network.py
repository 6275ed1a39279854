"""Settings of listeners, connections and requests."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, HIGH, LOW, MEDIUM, PER_BROKER, READ_ONLY, AppliesWhen, OwnDefault, Setting
from ..values import INT, LONG, STRING

QUEUED_MAX_REQUEST_BYTES = OwnDefault(
    "268435456",
    AppliesWhen.ALWAYS,
    "one process holds all requests in its memory, so they are bounded",
)

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("advertised.listeners", STRING, None, None, HIGH, PER_BROKER, ACTED_ON,
            "."),
    Setting("connections.max.idle.ms", LONG, "600000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("control.plane.listener.name", STRING, None, None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("fetch.max.bytes", INT, "57671680", at_least(1024), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("inter.broker.listener.name", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("listener.security.protocol.map", STRING,
            "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
            None, LOW, PER_BROKER, ACTED_ON,
            "."),
    Setting("listeners", STRING, "PLAINTEXT://:9092", None, HIGH, PER_BROKER, ACTED_ON,
            "."),
    Setting("max.connection.creation.rate", INT, "2147483647", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("max.connections", INT, "2147483647", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("max.connections.per.ip", INT, "2147483647", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("max.connections.per.ip.overrides", STRING, "", None, MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("max.incremental.fetch.session.cache.slots", INT, "1000", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("max.request.partition.size.limit", INT, "2000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("num.network.threads", INT, "3", at_least(1), HIGH, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("queued.max.request.bytes", LONG, "-1", None, MEDIUM, READ_ONLY, ACTED_ON,
            ".", own_default=QUEUED_MAX_REQUEST_BYTES),
    Setting("queued.max.requests", INT, "500", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("request.timeout.ms", INT, "30000", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("socket.connection.setup.timeout.max.ms", LONG, "30000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("socket.connection.setup.timeout.ms", LONG, "10000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("socket.listen.backlog.size", INT, "50", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("socket.receive.buffer.bytes", INT, "102400", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("socket.request.max.bytes", INT, "104857600", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("socket.send.buffer.bytes", INT, "102400", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
)
# fmt: on
