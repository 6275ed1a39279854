"""Names that Kafka's brokers once took, or take elsewhere, and what stands for them now."""

_LISTENERS = "use listeners"
_ADVERTISED = "use advertised.listeners"
_QUOTAS = "quotas are set while the broker runs, by kafka-configs"
_TOPICS = "a topic's own value is set on the topic, by kafka-configs or kafka-topics"
_ZOOKEEPER = "use zookeeper.connect"

FORMER_NAMES: dict[str, str] = {
    # Kafka 3.0 took these away.
    "advertised.host.name": _ADVERTISED,
    "advertised.port": _ADVERTISED,
    "host.name": _LISTENERS,
    "port": _LISTENERS,
    "quota.consumer.default": _QUOTAS,
    "quota.producer.default": _QUOTAS,
    "zookeeper.sync.time.ms": "nothing stands for it, it had no effect",
    # Kafka 0.9
    "controller.message.queue.size": "nothing stands for it, the queue is not bounded",
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
    "max.topic.name.length": "nothing stands for it, names have up to 249 characters",
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
    "zk.synctime.ms": "nothing stands for it, it had no effect",
}
