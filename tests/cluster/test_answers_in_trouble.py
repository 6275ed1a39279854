"""No request holds its connection back longer than with Apache Kafka in the same trouble.

Each request, and the one behind it, must be answered about as soon as by Apache Kafka 3.9.1 (`kafka_times`). A request
fails the test if it is late in two clusters in a row, because a busy machine may delay one. Without trouble the
response must have the expected error codes.
"""

from pathlib import Path

import pytest
from support.load.answer_times import AnswerTime
from support.load.healthy_codes import unexpected_codes
from support.load.kafka_times import Bounds, is_late, kafka_times
from support.load.request_of_each_api import TIMEOUT_MS, requests_of_each_api
from support.load.scene import Scene
from support.processes.troubled_cluster import Trouble, TroubledCluster

ANSWERED_WITHOUT_ZOOKEEPER = {
    "FindCoordinator, topic missing",
    "FindCoordinator, topic missing, of the controller",
    "FindCoordinator, transactional id",
    "Metadata, 1 new topic",
    "Metadata, 5 new topics",
    "Metadata, 1 new topic, of the controller",
    "Metadata, 5 new topics, of the controller",
    "UpdateFeatures, of the controller",
}
"""Kafka answers these when ZooKeeper is back; pybroker answers at once."""
LIKE_OTHERS = (Trouble.CONTROLLER_KILLED, Trouble.CONTROLLER_KILLED_EARLY, Trouble.ZOOKEEPER_KILLED)
"""A killed process refuses connections. A stopped one gives no response, which holds requests back longer."""
AT_ONCE: Bounds = (0.0, 0.0)
FETCH_WAIT_S = 0.5
"""DeleteRecords waits until the followers' next fetches, so Kafka's time differs from run to run by so much."""


def bounds_in(trouble: Trouble) -> dict[str, Bounds]:
    """None: the request may wait until the trouble ends, as Kafka's does. Only requests that need ZooKeeper may."""
    kafka = kafka_times(trouble.value)
    waiting = {name for name, (seconds, _) in kafka.items() if seconds is None}
    if trouble in (Trouble.ZOOKEEPER_STOPPED, Trouble.ZOOKEEPER_KILLED):
        answered = dict.fromkeys(ANSWERED_WITHOUT_ZOOKEEPER & waiting, AT_ONCE)
    else:
        answered = dict.fromkeys(waiting, (TIMEOUT_MS / 1000, TIMEOUT_MS / 1000))
    seconds = max(kafka["DeleteRecords"][0] or 0.0, FETCH_WAIT_S)
    return kafka | answered | {"DeleteRecords": (seconds, seconds)}


def late_requests(directory: Path, trouble: Trouble) -> dict[str, AnswerTime]:
    """The late requests in a new cluster, by name."""
    bounds = bounds_in(trouble)
    unwatched = {name for name, (seconds, _) in bounds.items() if seconds is None}
    cluster = TroubledCluster(directory, trouble, is_kafka=False)
    try:
        cluster.start()
        times = cluster.times_without_internal_topics(unwatched) + cluster.times_of_each_api(unwatched)
        served = cluster.served_apis()
    finally:
        cluster.close()
    assert cluster.tracebacks() == []
    asked = {each.api for each in requests_of_each_api(Scene(1, 2, "group"))}
    assert served <= asked, "an API is served that this test does not ask"
    if trouble is Trouble.NONE:
        assert {time.name: codes for time in times if (codes := unexpected_codes(time))} == {}
    return {time.name: time for time in times if is_late(time, bounds.get(time.name, AT_ONCE))}


@pytest.mark.parametrize(
    "trouble",
    [
        pytest.param(
            each,
            id=each.value.replace(", ", " ").replace(" ", "-"),
            marks=pytest.mark.long if each in LIKE_OTHERS else (),
        )
        for each in Trouble
    ],
)
def test_no_request_holds_its_connection_back_longer_than_with_kafka(trouble: Trouble, tmp_path: Path) -> None:
    late = late_requests(tmp_path / "first", trouble)
    if late:
        again = late_requests(tmp_path / "second", trouble)
        assert [(late[name], again[name]) for name in late if name in again] == []
