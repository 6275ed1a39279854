"""No request holds its connection back longer than with Apache Kafka in the same trouble.

The bounds come from `scripts/answer-times`, which sends the same requests to Apache Kafka 3.9.1. All requests are
answered at once, except those named here: some wait for other replicas, as long as the request allows, and some for
ZooKeeper, as long as it is away.
"""

from pathlib import Path

import pytest
from support.load.answer_times import AT_ONCE, AnswerTime
from support.load.request_of_each_api import Scene, requests_of_each_api
from support.processes.troubled_cluster import Trouble, TroubledCluster

WAIT_FOR_FETCHES = {"Fetch, at the end, max wait 500 ms", "DeleteRecords"}
"""Half a second: until the consumer's, or the followers', fetch is answered."""
WAIT_FOR_REPLICAS = {"Produce, acks=all", "OffsetCommit", "DeleteRecords", "TxnOffsetCommit"}
WAIT_FOR_ZOOKEEPER = {
    "FindCoordinator, topic missing",
    "FindCoordinator, topic missing, of the controller",
    "FindCoordinator, transactional id",
    "OffsetCommit, version 0",
    "OffsetFetch, version 0",
    "DescribeConfigs, topic",
    "IncrementalAlterConfigs, topic",
    "IncrementalAlterConfigs, broker",
    "AlterConfigs, topic",
    "DescribeClientQuotas",
    "AlterClientQuotas",
    "DescribeUserScramCredentials",
    "Metadata, 1 new topic",
    "Metadata, 5 new topics",
    "Metadata, 1 new topic, of the controller",
    "Metadata, 5 new topics, of the controller",
    "ControlledShutdown, stale, of the controller",
    "AlterPartition, stale, of the controller",
    "AllocateProducerIds, stale, of the controller",
    "CreateTopics, on all brokers, of the controller",
    "CreateTopics, on one broker, of the controller",
    "CreatePartitions, of the controller",
    "DeleteTopics, of the controller",
    "ElectLeaders, of the controller",
    "AlterPartitionReassignments, of the controller",
    "ListPartitionReassignments, of the controller",
    "UpdateFeatures, of the controller",
}
NEVER_WAIT_HERE = {
    "FindCoordinator, topic missing",
    "FindCoordinator, topic missing, of the controller",
    "FindCoordinator, transactional id",
    "DescribeClientQuotas",
    "AlterClientQuotas",
    "DescribeUserScramCredentials",
    "Metadata, 1 new topic",
    "Metadata, 5 new topics",
    "Metadata, 1 new topic, of the controller",
    "Metadata, 5 new topics, of the controller",
    "UpdateFeatures, of the controller",
}
"""Kafka answers these when ZooKeeper is back; pybroker answers at once."""
IN_TIME = {
    Trouble.CONTROLLER_STOPPED: WAIT_FOR_REPLICAS,
    Trouble.CONTROLLER_KILLED: WAIT_FOR_REPLICAS,
    Trouble.BROKER_STOPPED: WAIT_FOR_REPLICAS,
}
"""By trouble: requests that are answered when their own time is over."""
WITHOUT_BOUND = {
    Trouble.ZOOKEEPER_STOPPED: WAIT_FOR_ZOOKEEPER - NEVER_WAIT_HERE,
    Trouble.ZOOKEEPER_KILLED: WAIT_FOR_ZOOKEEPER - NEVER_WAIT_HERE,
}


def is_late(time: AnswerTime, trouble: Trouble) -> bool:
    if time.rounds is None:
        return True
    waits = WAIT_FOR_FETCHES | IN_TIME.get(trouble, set())
    return time.rounds > AT_ONCE and time.name not in waits


def is_behind(time: AnswerTime) -> bool:
    """Whether the request behind it was answered, unless the broker closed the connection."""
    return time.seconds_behind is not None or not time.codes


@pytest.mark.parametrize("trouble", Trouble, ids=lambda trouble: trouble.value.replace(" ", "-"))
def test_no_request_holds_its_connection_back_longer_than_with_kafka(trouble: Trouble, tmp_path: Path) -> None:
    without_bound = WITHOUT_BOUND.get(trouble, set())
    cluster = TroubledCluster(tmp_path, trouble, is_kafka=False)
    try:
        cluster.start()
        times = cluster.times_without_internal_topics(without_bound) + cluster.times_of_each_api(without_bound)
        served = cluster.served_apis()
    finally:
        cluster.close()
    bounded = [time for time in times if time.name not in without_bound]
    assert [time for time in bounded if is_late(time, trouble)] == []
    assert [time for time in bounded if not is_behind(time)] == []
    assert cluster.tracebacks() == []
    asked = {each.api for each in requests_of_each_api(Scene(1, 2, "group", "/data"))}
    assert served <= asked, "an API is served that this test does not ask"
