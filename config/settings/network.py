"""Settings of listeners, connections and requests."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, HIGH, LOW, MEDIUM, PER_BROKER, READ_ONLY, AppliesWhen, OwnDefault, Setting
from ..values import INT, LONG, STRING
from .parts import CONNECTION_TUNING, NETWORK_THREADS

QUEUED_MAX_REQUEST_BYTES = OwnDefault(
    "268435456",
    AppliesWhen.ALWAYS,
    "one process holds all requests in memory",
)

LISTEN_BACKLOG = OwnDefault(
    "1024",
    AppliesWhen.ALWAYS,
    "one event loop serves requests and accepts connections",
)

RECEIVE_BUFFER = OwnDefault(
    "-1",
    AppliesWhen.EMBEDDED_STORE,
    "the system grows the buffer of a fast connection",
)

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("advertised.listeners", STRING, None, None, HIGH, PER_BROKER, ACTED_ON,
            "Addresses that clients are told; unset: those of listeners."),
    Setting("connections.max.idle.ms", LONG, "600000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Idle timeout of connections."),
    Setting("control.plane.listener.name", STRING, None, None, HIGH, READ_ONLY, ACTED_ON,
            "A separate listener for requests of the controller."),
    Setting("fetch.max.bytes", INT, "57671680", at_least(1024), MEDIUM, READ_ONLY, ACTED_ON,
            "Most bytes of records in one fetch response, whatever the client asks for."),
    Setting("inter.broker.listener.name", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "Listener by which brokers reach one another."),
    Setting("listener.security.protocol.map", STRING,
            "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
            None, LOW, PER_BROKER, ACTED_ON,
            "Security protocol that each listener name stands for, as NAME:PROTOCOL pairs."),
    Setting("listeners", STRING, "PLAINTEXT://:9092", None, HIGH, PER_BROKER, ACTED_ON,
            "Addresses to listen on, as NAME://host:port; no host: every address of the machine."),
    Setting("max.connection.creation.rate", INT, "2147483647", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "New connections a second for the broker, or for one listener."),
    Setting("max.connections", INT, "2147483647", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Most open connections of the broker, or of one listener."),
    Setting("max.connections.per.ip", INT, "2147483647", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Most open connections from one client address."),
    Setting("max.connections.per.ip.overrides", STRING, "", None, MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Most open connections for single addresses or host names, as host:number pairs."),
    Setting("max.incremental.fetch.session.cache.slots", INT, "1000", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "Most incremental fetch sessions (KIP-227)."),
    Setting("max.request.partition.size.limit", INT, "2000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Most partitions in one DescribeTopicPartitions response."),
    Setting("num.network.threads", INT, "3", at_least(1), HIGH, CLUSTER_WIDE, NETWORK_THREADS,
            "Threads that read requests from sockets and write answers to them."),
    Setting("queued.max.request.bytes", LONG, "-1", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Bytes of requests in memory at which reading from connections stops; -1: no limit.",
            own_default=QUEUED_MAX_REQUEST_BYTES),
    Setting("queued.max.requests", INT, "500", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Unanswered produce requests at which connections with one under way are not read; other requests do not "
            "count."),
    Setting("request.timeout.ms", INT, "30000", None, HIGH, READ_ONLY, ACTED_ON,
            "How long this broker waits for a response of another broker."),
    Setting("socket.connection.setup.timeout.max.ms", LONG, "30000", None, MEDIUM, READ_ONLY, CONNECTION_TUNING,
            "Longest timeout for connecting to another broker; it doubles with each attempt."),
    Setting("socket.connection.setup.timeout.ms", LONG, "10000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "First timeout for connecting to another broker."),
    Setting("socket.listen.backlog.size", INT, "50", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Connections the system keeps waiting until the broker accepts them.", own_default=LISTEN_BACKLOG),
    Setting("socket.receive.buffer.bytes", INT, "102400", None, HIGH, READ_ONLY, ACTED_ON,
            "The system's receive buffer of each connection (SO_RCVBUF); -1 leaves it to the system.",
            own_default=RECEIVE_BUFFER),
    Setting("socket.request.max.bytes", INT, "104857600", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Largest request; a larger one closes its connection."),
    Setting("socket.send.buffer.bytes", INT, "102400", None, HIGH, READ_ONLY, ACTED_ON,
            "The system's send buffer of each connection (SO_SNDBUF); -1 leaves it to the system."),
)
# fmt: on
