"""The parts of the broker that are missing or built differently, as the table of settings names them.

A setting of a missing part refers to the part's constant here. When the part is built, its line becomes
``PART = ACTED_ON``; the settings page, the warnings at the start and the refusals follow from that.
"""

from ..setting import ACTED_ON, no_meaning, not_yet, other_mode, partly, refused

# Not built yet: the settings are read and checked, and a line at the start says that they have no effect.
CLIENT_TELEMETRY = not_yet("client telemetry")
METRICS = not_yet("metrics")
PROTOCOL_VERSION = partly("it must be from 3.0 to 3.9")
CONNECTION_TUNING = not_yet("tuning of connections between brokers")
SELECTOR = partly("only org.apache.kafka.common.replica.RackAwareReplicaSelector; other classes need a JVM")
TIERED_STORAGE = not_yet("tiered storage")
TOKENS = not_yet("delegation tokens")
UNSTABLE_APIS = not_yet("unstable versions of APIs")

# Built differently from Kafka, so that there is nothing to set.
COMPACTION_BUFFER = no_meaning("compaction always reads and writes a megabyte at a time")
BACKGROUND_THREADS = no_meaning("two threads do this work")
FORMAT_VERSION = no_meaning("as in Kafka from protocol version 3.0 on, records are always written in format 2")
JAVA_SOCKETS = no_meaning("zookeeper.ssl.client.enable alone enables TLS to ZooKeeper")
JMX = no_meaning("JMX and reporters that are Java classes need a JVM")
MOVE_WINDOWS = no_meaning("moves between log directories are throttled without windows")
KRAFT = no_meaning("it belongs to KRaft, a mode of Kafka that pybroker does not have")
NETWORK_THREADS = no_meaning("one event loop serves all connections")
NEW_GROUPS = no_meaning("one coordinator, without threads of its own, serves the groups of all protocols")
PEM_STORES = no_meaning("certificates in PEM are not encrypted")
PURGATORY = no_meaning("an answered request leaves the purgatory at once")
SHARE_GROUP_COUNT = no_meaning("as in Kafka 4.2, the number of share groups has no bound")
SHARE_SWITCH = no_meaning("group.coordinator.rebalance.protocols decides whether share groups are served")

# Missing protection: a broker that started without it would be open where the operator wanted it closed.
AUTHORIZATION = ACTED_ON
DELEGATION_TOKENS = refused("delegation tokens")
GSSAPI = refused("GSSAPI (Kerberos)")
POLICIES = refused("policies in Java classes")
PRINCIPAL_BUILDERS = refused("principals built by Java classes")
QUOTA_CALLBACK = refused("quotas decided by a Java class")
JAVA_TLS = refused("TLS by Java classes")
ZOOKEEPER_REVOCATION = refused("revocation checks of ZooKeeper's certificate")

# Other modes of Kafka: pybroker must not run a single broker where the operator meant a cluster.
KRAFT_MODE = other_mode("pybroker has no KRaft mode")
