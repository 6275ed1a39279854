"""Samples of the traffic of topics: the broker's totals, and each topic that has had traffic."""

from collections.abc import Iterator

from ...replication.partition.topic_traffic import BrokerTraffic
from .labels import labels
from .registry import Registry, Step, in_steps
from .series.series import Detail
from .series.table import series_named

__all__ = ["add_topic_samples"]

_PREFIX = "kafka_server_brokertopicmetrics"
_OF_TOPICS = (
    "messages_in",
    "bytes_in",
    "bytes_out",
    "bytes_rejected",
    "total_produce_requests",
    "total_fetch_requests",
    "failed_produce_requests",
    "failed_fetch_requests",
    "produce_message_conversions",
    "fetch_message_conversions",
)
"""Counters of `TopicTraffic`; a series' name has the counter's without underscores."""
_OF_BROKER = {
    "invalid_magics": "invalidmagicnumberrecords",
    "invalid_checksums": "invalidmessagecrcrecords",
    "invalid_sequences": "invalidoffsetorsequencerecords",
    "keyless_records": "nokeycompactedtopicrecords",
    "replication_bytes_in": "replicationbytesin",
    "replication_bytes_out": "replicationbytesout",
    "reassignment_bytes_in": "reassignmentbytesin",
    "reassignment_bytes_out": "reassignmentbytesout",
}
_TOPICS_BETWEEN_SLICES = 64


def add_topic_samples(registry: Registry, traffic: BrokerTraffic) -> None:
    """Add the sources of Kafka's BrokerTopicMetrics."""
    topics = _Topics(traffic)
    for counter in _OF_TOPICS:
        series = series_named(f"{_PREFIX}_{counter.replace('_', '')}_total")
        registry.add(series, lambda counter=counter: topics.total(counter), Detail.BROKER)  # type: ignore[misc]
        registry.add(series, lambda counter=counter: topics.each(counter))  # type: ignore[misc]
    for counter, name in _OF_BROKER.items():
        registry.add(
            series_named(f"{_PREFIX}_{name}_total"),
            lambda counter=counter: [("", getattr(traffic, counter))],  # type: ignore[misc]
        )


class _Topics:
    """Reads the counters. The label texts of topics are kept, because making one takes longer than all the rest."""

    def __init__(self, traffic: BrokerTraffic) -> None:
        self._traffic = traffic
        self._labels: dict[str, str] = {}

    def total(self, counter: str) -> Iterator[Step]:
        total = 0
        for some in in_steps(self._traffic.parts(), _TOPICS_BETWEEN_SLICES):
            total += sum([getattr(each, counter) for each in some])
            yield None
        yield "", total

    def each(self, counter: str) -> Iterator[Step]:
        topics, texts = self._traffic.topics, self._labels
        if len(texts) > 2 * len(topics) + _TOPICS_BETWEEN_SLICES:
            texts.clear()
        for number, (topic, traffic) in enumerate(list(topics.items()), 1):
            if traffic.total_produce_requests or traffic.total_fetch_requests:
                text = texts.get(topic)
                if text is None:
                    text = texts[topic] = labels(topic=topic)
                yield text, getattr(traffic, counter)
            elif not number % _TOPICS_BETWEEN_SLICES:
                yield None
