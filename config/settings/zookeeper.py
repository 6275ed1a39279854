"""Settings of the connection to ZooKeeper."""

from ..checks import at_least
from ..setting import ACTED_ON, HIGH, LOW, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, INT, LIST, PASSWORD, STRING
from .parts import JAVA_SOCKETS, KRAFT, KRAFT_MODE, PEM_STORES, ZOOKEEPER_REVOCATION

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("zookeeper.clientCnxnSocket", STRING, None, None, MEDIUM, READ_ONLY, JAVA_SOCKETS,
            "Java class of the connection to ZooKeeper, needed there for TLS."),
    Setting("zookeeper.connect", STRING, None, None, HIGH, READ_ONLY, ACTED_ON,
            "ZooKeeper's servers as host:port pairs, and a path after the last one if the tree is below the root."),
    Setting("zookeeper.connection.timeout.ms", INT, None, None, HIGH, READ_ONLY, ACTED_ON,
            "Timeout of the first connection to ZooKeeper; unset: zookeeper.session.timeout.ms."),
    Setting("zookeeper.max.in.flight.requests", INT, "10", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "Requests to ZooKeeper under way at a time."),
    Setting("zookeeper.metadata.migration.enable", BOOLEAN, "false", None, HIGH, READ_ONLY, KRAFT_MODE,
            "Migrate the cluster from ZooKeeper to KRaft."),
    Setting("zookeeper.metadata.migration.min.batch.size", INT, "200", at_least(1), MEDIUM, READ_ONLY, KRAFT,
            "Records to a batch during a migration to KRaft.", internal=True),
    Setting("zookeeper.session.timeout.ms", INT, "18000", None, HIGH, READ_ONLY, ACTED_ON,
            "Silence after which ZooKeeper considers a broker dead."),
    Setting("zookeeper.set.acl", BOOLEAN, "false", None, HIGH, READ_ONLY, ACTED_ON,
            "Protect ZooKeeper's nodes with ACLs."),
    Setting("zookeeper.ssl.cipher.suites", LIST, None, None, LOW, READ_ONLY, ACTED_ON,
            "Cipher suites for ZooKeeper."),
    Setting("zookeeper.ssl.client.enable", BOOLEAN, "false", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Use TLS for ZooKeeper."),
    Setting("zookeeper.ssl.crl.enable", BOOLEAN, "false", None, LOW, READ_ONLY, ZOOKEEPER_REVOCATION,
            "Look ZooKeeper's certificate up in revocation lists."),
    Setting("zookeeper.ssl.enabled.protocols", LIST, None, None, LOW, READ_ONLY, ACTED_ON,
            "TLS versions for ZooKeeper."),
    Setting("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", None, LOW, READ_ONLY, ACTED_ON,
            "How ZooKeeper's name is checked against its certificate."),
    Setting("zookeeper.ssl.keystore.location", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "File of the key store for ZooKeeper."),
    Setting("zookeeper.ssl.keystore.password", PASSWORD, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "Password of the key store for ZooKeeper."),
    Setting("zookeeper.ssl.keystore.type", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "Format of the key store for ZooKeeper: PEM; unset: taken from the file's suffix."),
    Setting("zookeeper.ssl.ocsp.enable", BOOLEAN, "false", None, LOW, READ_ONLY, ZOOKEEPER_REVOCATION,
            "Ask about ZooKeeper's certificate by OCSP."),
    Setting("zookeeper.ssl.protocol", STRING, "TLSv1.2", None, LOW, READ_ONLY, ACTED_ON,
            "TLS version for ZooKeeper."),
    Setting("zookeeper.ssl.truststore.location", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "File of the trust store for ZooKeeper."),
    Setting("zookeeper.ssl.truststore.password", PASSWORD, None, None, MEDIUM, READ_ONLY, PEM_STORES,
            "Password of the trust store for ZooKeeper."),
    Setting("zookeeper.ssl.truststore.type", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "Format of the trust store for ZooKeeper: PEM; unset: taken from the file's suffix."),
)
# fmt: on
