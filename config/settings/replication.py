"""Settings of replication and of the choice of leaders."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, HIGH, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, INT, LONG, STRING
from ..versions import MetadataVersionCheck
from .parts import CONNECTION_TUNING, KRAFT, PROTOCOL_VERSION, PURGATORY, SELECTOR

# The rows form a table; the formatter would put each argument on a line of its own.
# fmt: off
SETTINGS = (
    Setting("auto.leader.rebalance.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, ACTED_ON,
            "Give leadership back to preferred replicas from time to time."),
    Setting("controlled.shutdown.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Hand leadership over before stopping."),
    Setting("controlled.shutdown.max.retries", INT, "3", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Attempts to hand leadership over before stopping anyway."),
    Setting("controlled.shutdown.retry.backoff.ms", LONG, "5000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Wait between attempts to hand leadership over."),
    Setting("controller.socket.timeout.ms", INT, "30000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "How long the controller waits for a broker's response."),
    Setting("default.replication.factor", INT, "1", None, MEDIUM, READ_ONLY, ACTED_ON,
            "Replicas of a topic created without a replication factor."),
    Setting("delete.records.purgatory.purge.interval.requests", INT, "1", None, MEDIUM, READ_ONLY, PURGATORY,
            "Finished DeleteRecords requests that Kafka lets pile up before it clears them."),
    Setting("fetch.purgatory.purge.interval.requests", INT, "1000", None, MEDIUM, READ_ONLY, PURGATORY,
            "Finished fetch requests that Kafka lets pile up before it clears them."),
    Setting("inter.broker.protocol.version", STRING, "3.9-IV0", MetadataVersionCheck(), MEDIUM, READ_ONLY,
            PROTOCOL_VERSION,
            "Version of the protocol between brokers; during an upgrade, that of the oldest broker."),
    Setting("leader.imbalance.check.interval.seconds", LONG, "300", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "How often partitions are checked for leaders that are not the preferred replica."),
    Setting("leader.imbalance.per.broker.percentage", INT, "10", None, HIGH, READ_ONLY, ACTED_ON,
            "Share of a broker's preferred partitions, in percent, that others may lead before it gets them back."),
    Setting("min.insync.replicas", INT, "1", at_least(1), HIGH, CLUSTER_WIDE, ACTED_ON,
            "Replicas, including the leader, that must be in sync for acks=all."),
    Setting("num.replica.fetchers", INT, "1", None, HIGH, CLUSTER_WIDE, ACTED_ON,
            "Connections by which a follower reads from each leader."),
    Setting("producer.purgatory.purge.interval.requests", INT, "1000", None, MEDIUM, READ_ONLY, PURGATORY,
            "Finished produce requests that Kafka lets pile up before it clears them."),
    Setting("replica.fetch.backoff.ms", INT, "1000", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "Wait of a follower after a failed fetch."),
    Setting("replica.fetch.max.bytes", INT, "1048576", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "Bytes of a partition that a follower asks for at a time."),
    Setting("replica.fetch.min.bytes", INT, "1", None, HIGH, READ_ONLY, ACTED_ON,
            "Bytes for which a follower's fetch waits at the leader."),
    Setting("replica.fetch.response.max.bytes", INT, "10485760", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "Bytes of all partitions that a follower asks for at a time."),
    Setting("replica.fetch.wait.max.ms", INT, "500", None, HIGH, READ_ONLY, ACTED_ON,
            "Longest wait of a follower's fetch at the leader; keep it well below replica.lag.time.max.ms."),
    Setting("replica.high.watermark.checkpoint.interval.ms", LONG, "5000", None, HIGH, READ_ONLY, ACTED_ON,
            "How often high watermarks are written to disk."),
    Setting("replica.lag.time.max.ms", LONG, "30000", None, HIGH, READ_ONLY, ACTED_ON,
            "Time without catching up after which a follower leaves the ISR."),
    Setting("replica.selector.class", STRING, None, None, MEDIUM, READ_ONLY, SELECTOR,
            "Class that directs consumers to a near replica (KIP-392)."),
    Setting("replica.socket.receive.buffer.bytes", INT, "65536", None, HIGH, READ_ONLY, CONNECTION_TUNING,
            "Receive buffer of a follower's connections."),
    Setting("replica.socket.timeout.ms", INT, "30000", None, HIGH, READ_ONLY, ACTED_ON,
            "How long a follower waits for the leader's response."),
    Setting("unclean.leader.election.enable", BOOLEAN, "false", None, HIGH, CLUSTER_WIDE, ACTED_ON,
            "Let a replica outside the ISR lead when no other is left; records may be lost."),
    Setting("unclean.leader.election.interval.ms", LONG, "300000", at_least(1), MEDIUM, READ_ONLY, KRAFT,
            "How often to look for partitions that wait for an unclean election.", internal=True),
)
# fmt: on
