"""Names of settings that Kafka has removed, with their replacements."""

_LISTENERS = "use listeners"
_ADVERTISED = "use advertised.listeners"
_QUOTAS = "set quotas while the broker runs, by kafka-configs"
_TOPICS = "set it on the topic, by kafka-configs or kafka-topics"
_ZOOKEEPER = "use zookeeper.connect"

FORMER_NAMES: dict[str, str] = {
    # removed in Kafka 3.0
    "advertised.host.name": _ADVERTISED,
    "advertised.port": _ADVERTISED,
    "host.name": _LISTENERS,
    "port": _LISTENERS,
    "quota.consumer.default": _QUOTAS,
    "quota.producer.default": _QUOTAS,
    "zookeeper.sync.time.ms": "no replacement: it had no effect",
    # Kafka 0.9
    "controller.message.queue.size": "no replacement: the queue has no limit",
    "replica.lag.max.messages": "use replica.lag.time.max.ms",
    # Kafka 0.8
    "log.cleanup.interval.mins": "use log.retention.check.interval.ms",
    "log.flush.interval.ms.per.topic": _TOPICS,
    "log.retention.bytes.per.topic": _TOPICS,
    "log.retention.hours.per.topic": _TOPICS,
    "log.roll.hours.per.topic": _TOPICS,
    "log.segment.bytes.per.topic": _TOPICS,
    # Kafka 0.7
    "brokerid": "use broker.id",
    "enable.zookeeper": _ZOOKEEPER,
    "hostname": _LISTENERS,
    "log.default.flush.interval.ms": "use log.flush.interval.ms",
    "log.default.flush.scheduler.interval.ms": "use log.flush.scheduler.interval.ms",
    "log.file.size": "use log.segment.bytes",
    "log.flush.interval": "use log.flush.interval.messages",
    "log.retention.size": "use log.retention.bytes",
    "max.message.size": "use message.max.bytes",
    "max.socket.request.bytes": "use socket.request.max.bytes",
    "max.topic.name.length": "no replacement: names have at most 249 characters",
    "monitoring.period.secs": "use metrics.sample.window.ms",
    "num.threads": "use num.io.threads",
    "socket.receive.buffer": "use socket.receive.buffer.bytes",
    "socket.send.buffer": "use socket.send.buffer.bytes",
    "topic.flush.intervals.ms": _TOPICS,
    "topic.log.file.size": _TOPICS,
    "topic.log.retention.hours": _TOPICS,
    "topic.log.retention.size": _TOPICS,
    "topic.log.roll.hours": _TOPICS,
    "topic.partition.count.map": _TOPICS,
    "zk.connect": _ZOOKEEPER,
    "zk.connectiontimeout.ms": "use zookeeper.connection.timeout.ms",
    "zk.sessiontimeout.ms": "use zookeeper.session.timeout.ms",
    "zk.synctime.ms": "no replacement: it had no effect",
}
