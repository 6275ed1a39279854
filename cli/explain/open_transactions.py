"""The oldest open transaction of partitions, with its producer."""

from collections import defaultdict
from collections.abc import Mapping

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.apis import ApiKey

__all__ = ["open_transactions"]


def open_transactions(cluster: AdminCluster, leaders: Mapping[TopicPartition, int]) -> dict[TopicPartition, str]:
    """A text about the producer of the oldest open transaction, for each partition; brokers before 2.8 name none."""
    from ...protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest

    found = dict.fromkeys(leaders, "a producer")
    by_leader: dict[int, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for at, leader in leaders.items():
        by_leader[leader][at.topic].append(at.partition)
    for leader, topics in by_leader.items():
        try:
            if cluster.connection_to(leader).newest_version(ApiKey.DESCRIBE_PRODUCERS) is None:
                continue
            asked = [TopicRequest(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
            answer = cluster.ask_broker(leader, DescribeProducersRequest(topics=asked))
        except OSError:
            continue
        for topic in answer.topics:
            for partition in topic.partitions:
                open_ones = [each for each in partition.active_producers if each.current_txn_start_offset >= 0]
                if open_ones:
                    oldest = min(open_ones, key=lambda each: int(each.current_txn_start_offset))
                    text = f"producer id {oldest.producer_id}, since offset {oldest.current_txn_start_offset}"
                    found[TopicPartition(topic.name, partition.partition_index)] = text
    return found
