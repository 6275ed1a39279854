"""Builds the data of tree nodes that list partitions, as other brokers and old tools write them."""

import json
from collections.abc import Iterable

from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.tree.znodes import ISR_CHANGE_PATH

ISR_CHANGE_PREFIX = f"{ISR_CHANGE_PATH}/isr_change_"


def encode_partition_list(partitions: Iterable[TopicPartition]) -> bytes:
    """The data of /admin/preferred_replica_election and of isr_change notifications."""
    fields = [{"topic": each.topic, "partition": each.partition} for each in partitions]
    return json.dumps({"version": 1, "partitions": fields}).encode()
