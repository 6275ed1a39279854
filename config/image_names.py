"""Hints for names that variables of other Kafka images turn into, and that are no settings of Kafka."""

_CLUSTER_ID = "a new cluster gets its id by itself (Kafka's image reads CLUSTER_ID, which has no effect here)"
_TOPICS = "create topics by kafka-topics, or let clients create them (auto.create.topics.enable)"

IMAGE_NAMES: dict[str, str] = {
    "cluster.id": _CLUSTER_ID,
    "create.topics": _TOPICS,
    "enable.kraft": "a single broker needs neither KRaft nor ZooKeeper",
    "jmx.port": "pybroker has no JMX",
    "kraft.cluster.id": _CLUSTER_ID,
}
