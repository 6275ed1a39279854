"""Settings of replication and of the choice of leaders."""

from ..checks import at_least
from ..setting import ACTED_ON, CLUSTER_WIDE, HIGH, MEDIUM, READ_ONLY, Setting
from ..values import BOOLEAN, INT, LONG, STRING
from ..versions import MetadataVersionCheck

# A row reads as a table does: fmt would give each of its words a line.
# fmt: off
SETTINGS = (
    Setting("auto.leader.rebalance.enable", BOOLEAN, "true", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("controlled.shutdown.enable", BOOLEAN, "true", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("controlled.shutdown.max.retries", INT, "3", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("controlled.shutdown.retry.backoff.ms", LONG, "5000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("controller.socket.timeout.ms", INT, "30000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("default.replication.factor", INT, "1", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("delete.records.purgatory.purge.interval.requests", INT, "1", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("fetch.purgatory.purge.interval.requests", INT, "1000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("inter.broker.protocol.version", STRING, "3.9-IV0", MetadataVersionCheck(), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("leader.imbalance.check.interval.seconds", LONG, "300", at_least(1), HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("leader.imbalance.per.broker.percentage", INT, "10", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("min.insync.replicas", INT, "1", at_least(1), HIGH, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("num.replica.fetchers", INT, "1", None, HIGH, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("producer.purgatory.purge.interval.requests", INT, "1000", None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.fetch.backoff.ms", INT, "1000", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.fetch.max.bytes", INT, "1048576", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.fetch.min.bytes", INT, "1", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.fetch.response.max.bytes", INT, "10485760", at_least(0), MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.fetch.wait.max.ms", INT, "500", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.high.watermark.checkpoint.interval.ms", LONG, "5000", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.lag.time.max.ms", LONG, "30000", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.selector.class", STRING, None, None, MEDIUM, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.socket.receive.buffer.bytes", INT, "65536", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("replica.socket.timeout.ms", INT, "30000", None, HIGH, READ_ONLY, ACTED_ON,
            "."),
    Setting("unclean.leader.election.enable", BOOLEAN, "false", None, HIGH, CLUSTER_WIDE, ACTED_ON,
            "."),
    Setting("unclean.leader.election.interval.ms", LONG, "300000", at_least(1), MEDIUM, READ_ONLY, ACTED_ON,
            ".", internal=True),
)
# fmt: on
