"""The parts of the broker that settings wait for.

A setting of a part that is not built names the part's constant here. When the part lands, its line becomes
``PART = ACTED_ON``: the settings page, the lines at the start and the refusals follow.
"""

from ..setting import no_meaning, not_yet, other_mode, partly, refused

# Not built yet: settings are read and checked, and one line at the start says that nothing comes of them.
CLIENT_TELEMETRY = not_yet("client telemetry")
ENCODED_PASSWORDS = not_yet("encrypted passwords in dynamic configs")
LOGIN_FAILURES = not_yet("authentication")
METRICS = not_yet("metrics")
PROTOCOL_VERSION = partly("it must be from 3.0 to 3.9")
QUOTAS = not_yet("quotas")
REPLICATION = not_yet("replication between brokers")
SELECTOR = partly("org.apache.kafka.common.replica.RackAwareReplicaSelector alone; other classes need a JVM")
TIERED_STORAGE = not_yet("tiered storage")
TOKENS = not_yet("delegation tokens")
TRANSACTIONS = not_yet("transactions")
UNSTABLE_APIS = not_yet("unstable versions of APIs")

# Built otherwise than Kafka, so that there is nothing to set.
COMPACTION_BUFFER = no_meaning("compaction reads and writes a megabyte at a time")
BACKGROUND_THREADS = no_meaning("two threads do this work")
FORMAT_VERSION = no_meaning("as in Kafka from protocol version 3.0 on, records are always written in format 2")
JAVA_SOCKETS = no_meaning("zookeeper.ssl.client.enable alone decides about TLS to ZooKeeper")
JMX = no_meaning("JMX and reporters that are Java classes need a JVM")
MOVE_WINDOWS = no_meaning("moves between log directories are throttled without windows")
KRAFT = no_meaning("it belongs to KRaft, a mode of Kafka that pybroker does not have")
NETWORK_THREADS = no_meaning("one event loop serves all connections")
NEW_GROUPS = no_meaning("Kafka 3.9 serves the newer group protocols in KRaft mode only")
PEM_STORES = no_meaning("certificates in PEM are not encrypted")
PURGATORY = no_meaning("a parked request leaves with its answer, so there is nothing to purge")

# Protection that is not there: to start without it would leave open what somebody wanted closed.
AUTHENTICATION = refused("authentication")
AUTHORIZATION = refused("authorization")
DELEGATION_TOKENS = refused("delegation tokens")
PASSWORD_ENCODING = refused("encrypted passwords")
POLICIES = refused("policies in Java classes")
SASL = refused("SASL")
TLS = refused("TLS")
ZOOKEEPER_REVOCATION = refused("revocation checks of ZooKeeper's certificate")

# Other ways to run Kafka: never a single broker where somebody meant a cluster.
KRAFT_MODE = other_mode("pybroker has no KRaft mode")
