"""Settings of the connection to ZooKeeper."""

from ..checks import at_least
from ..setting import HIGH, LOW, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, INT, LIST, PASSWORD, STRING
from .parts import KRAFT, KRAFT_MODE, ZOOKEEPER, ZOOKEEPER_ACLS, ZOOKEEPER_MODE, ZOOKEEPER_TLS

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("zookeeper.clientCnxnSocket", STRING, None, None, MEDIUM, READ_ONLY, ZOOKEEPER_TLS,
            "Java class of the connection to ZooKeeper, needed there for TLS."),
    Setting("zookeeper.connect", STRING, None, None, HIGH, READ_ONLY, ZOOKEEPER_MODE,
            "ZooKeeper's servers as host:port pairs, with a path behind the last if the tree does not begin at "
            "the root."),
    Setting("zookeeper.connection.timeout.ms", INT, None, None, HIGH, READ_ONLY, ZOOKEEPER,
            "Wait for the first connection to ZooKeeper; unset, zookeeper.session.timeout.ms."),
    Setting("zookeeper.max.in.flight.requests", INT, "10", at_least(1), HIGH, READ_ONLY, ZOOKEEPER,
            "Requests to ZooKeeper under way at a time."),
    Setting("zookeeper.metadata.migration.enable", BOOLEAN, "false", None, HIGH, READ_ONLY, KRAFT_MODE,
            "Migrate the cluster from ZooKeeper to KRaft."),
    Setting("zookeeper.metadata.migration.min.batch.size", INT, "200", at_least(1), MEDIUM, READ_ONLY, KRAFT,
            "Records to a batch during a migration to KRaft.", internal=True),
    Setting("zookeeper.session.timeout.ms", INT, "18000", None, HIGH, READ_ONLY, ZOOKEEPER,
            "Silence after which ZooKeeper takes a broker for dead."),
    Setting("zookeeper.set.acl", BOOLEAN, "false", None, HIGH, READ_ONLY, ZOOKEEPER_ACLS,
            "Protect ZooKeeper's nodes by ACLs."),
    Setting("zookeeper.ssl.cipher.suites", LIST, None, None, LOW, READ_ONLY, ZOOKEEPER_TLS,
            "Cipher suites to ZooKeeper."),
    Setting("zookeeper.ssl.client.enable", BOOLEAN, "false", None, MEDIUM, READ_ONLY, ZOOKEEPER_TLS,
            "Talk TLS to ZooKeeper."),
    Setting("zookeeper.ssl.crl.enable", BOOLEAN, "false", None, LOW, READ_ONLY, ZOOKEEPER_TLS,
            "Look ZooKeeper's certificate up in revocation lists."),
    Setting("zookeeper.ssl.enabled.protocols", LIST, None, None, LOW, READ_ONLY, ZOOKEEPER_TLS,
            "Versions of TLS to ZooKeeper."),
    Setting("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", None, LOW, READ_ONLY, ZOOKEEPER_TLS,
            "How ZooKeeper's name is checked against its certificate."),
    Setting("zookeeper.ssl.keystore.location", STRING, None, None, MEDIUM, READ_ONLY, ZOOKEEPER_TLS,
            "File of the key store for ZooKeeper."),
    Setting("zookeeper.ssl.keystore.password", PASSWORD, None, None, MEDIUM, READ_ONLY, ZOOKEEPER_TLS,
            "Password of the key store for ZooKeeper."),
    Setting("zookeeper.ssl.keystore.type", STRING, None, None, MEDIUM, READ_ONLY, ZOOKEEPER_TLS,
            "Format of the key store for ZooKeeper."),
    Setting("zookeeper.ssl.ocsp.enable", BOOLEAN, "false", None, LOW, READ_ONLY, ZOOKEEPER_TLS,
            "Ask about ZooKeeper's certificate by OCSP."),
    Setting("zookeeper.ssl.protocol", STRING, "TLSv1.2", None, LOW, READ_ONLY, ZOOKEEPER_TLS,
            "Version of TLS to ZooKeeper."),
    Setting("zookeeper.ssl.truststore.location", STRING, None, None, MEDIUM, READ_ONLY, ZOOKEEPER_TLS,
            "File of the trust store for ZooKeeper."),
    Setting("zookeeper.ssl.truststore.password", PASSWORD, None, None, MEDIUM, READ_ONLY, ZOOKEEPER_TLS,
            "Password of the trust store for ZooKeeper."),
    Setting("zookeeper.ssl.truststore.type", STRING, None, None, MEDIUM, READ_ONLY, ZOOKEEPER_TLS,
            "Format of the trust store for ZooKeeper."),
)
# fmt: on
