"""Settings of listeners, connections and requests."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, HIGH, LOW, MEDIUM, PER_BROKER, READ_ONLY, AppliesWhen, OwnDefault, Setting
from ..values import INT, LONG, STRING
from .parts import NETWORK_THREADS, REPLICATION

QUEUED_MAX_REQUEST_BYTES = OwnDefault(
    "268435456",
    AppliesWhen.ALWAYS,
    "one process holds all requests in its memory, so they are bounded",
)

LISTEN_BACKLOG = OwnDefault(
    "1024",
    AppliesWhen.ALWAYS,
    "connections are accepted by the loop that also serves requests, so more of them wait for their turn",
)

RECEIVE_BUFFER = OwnDefault(
    "-1",
    AppliesWhen.EMBEDDED_STORE,
    "the system lets it grow while a connection is read fast, and several large batches then come in one read",
)

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("advertised.listeners", STRING, None, None, HIGH, PER_BROKER, ACTED_ON,
            "Addresses that clients are told; unset, each client is told the address by which it came."),
    Setting("connections.max.idle.ms", LONG, "600000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Close a connection that has been silent for so long."),
    Setting("control.plane.listener.name", STRING, None, None, HIGH, READ_ONLY, ACTED_ON,
            "Listener of its own for what the controller tells brokers."),
    Setting("fetch.max.bytes", INT, "57671680", at_least(1024), MEDIUM, READ_ONLY, ACTED_ON,
            "Most bytes of records that one fetch answer carries, whatever the client asks for."),
    Setting("inter.broker.listener.name", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "Listener by which brokers reach one another."),
    Setting("listener.security.protocol.map", STRING,
            "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
            None, LOW, PER_BROKER, ACTED_ON,
            "Security protocol that each listener name stands for, as NAME:PROTOCOL pairs."),
    Setting("listeners", STRING, "PLAINTEXT://:9092", None, HIGH, PER_BROKER, ACTED_ON,
            "Addresses to listen on, as NAME://host:port; without a host, on every address of the machine."),
    Setting("max.connection.creation.rate", INT, "2147483647", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "New connections a second that the broker, or one listener, takes."),
    Setting("max.connections", INT, "2147483647", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Connections that the broker, or one listener, holds at a time."),
    Setting("max.connections.per.ip", INT, "2147483647", at_least(0), MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Connections that one client address may hold at a time."),
    Setting("max.connections.per.ip.overrides", STRING, "", None, MEDIUM, CLUSTER_WIDE, ACTED_ON,
            "Connections for particular addresses or host names, as host:number pairs."),
    Setting("max.incremental.fetch.session.cache.slots", INT, "1000", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "Incremental fetch sessions kept at a time (KIP-227)."),
    Setting("max.request.partition.size.limit", INT, "2000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Most partitions that one answer to DescribeTopicPartitions describes."),
    Setting("num.network.threads", INT, "3", at_least(1), HIGH, CLUSTER_WIDE, NETWORK_THREADS,
            "Threads that read requests from sockets and write answers to them."),
    Setting("queued.max.request.bytes", LONG, "-1", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Bytes of requests held in memory before reading from connections stops; -1 for no bound.",
            own_default=QUEUED_MAX_REQUEST_BYTES),
    Setting("queued.max.requests", INT, "500", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Produce requests begun and not answered (they wait for the log, for replicas, for a leadership to begin, "
            "for the coordinator of a transaction) above which connections that have one under way are not read; other "
            "requests do not count."),
    Setting("request.timeout.ms", INT, "30000", None, HIGH, READ_ONLY, ACTED_ON,
            "How long this broker waits for another's answer."),
    Setting("socket.connection.setup.timeout.max.ms", LONG, "30000", None, MEDIUM, READ_ONLY, REPLICATION,
            "Longest wait for a connection to another broker to be set up, after waits that double from attempt "
            "to attempt."),
    Setting("socket.connection.setup.timeout.ms", LONG, "10000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "First wait for a connection to another broker to be set up."),
    Setting("socket.listen.backlog.size", INT, "50", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            "Connections the system keeps waiting until the broker accepts them.", own_default=LISTEN_BACKLOG),
    Setting("socket.receive.buffer.bytes", INT, "102400", None, HIGH, READ_ONLY, ACTED_ON,
            "The system's receive buffer of each connection (SO_RCVBUF); -1 leaves it to the system.",
            own_default=RECEIVE_BUFFER),
    Setting("socket.request.max.bytes", INT, "104857600", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Largest request taken; a larger one closes its connection."),
    Setting("socket.send.buffer.bytes", INT, "102400", None, HIGH, READ_ONLY, ACTED_ON,
            "The system's send buffer of each connection (SO_SNDBUF); -1 leaves it to the system."),
)
# fmt: on
