"""Settings of the connection to ZooKeeper."""

from ..checks import at_least
from ..setting import ACTED_ON, HIGH, LOW, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, INT, LIST, PASSWORD, STRING

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("zookeeper.clientCnxnSocket", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.connect", STRING, None, None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.connection.timeout.ms", INT, None, None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.max.in.flight.requests", INT, "10", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.metadata.migration.enable", BOOLEAN, "false", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.metadata.migration.min.batch.size", INT, "200", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            ".", internal=True),
    Setting("zookeeper.session.timeout.ms", INT, "18000", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.set.acl", BOOLEAN, "false", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.cipher.suites", LIST, None, None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.client.enable", BOOLEAN, "false", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.crl.enable", BOOLEAN, "false", None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.enabled.protocols", LIST, None, None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.endpoint.identification.algorithm", STRING, "HTTPS", None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.keystore.location", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.keystore.password", PASSWORD, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.keystore.type", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.ocsp.enable", BOOLEAN, "false", None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.protocol", STRING, "TLSv1.2", None, LOW, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.truststore.location", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.truststore.password", PASSWORD, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("zookeeper.ssl.truststore.type", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
)
# fmt: on
