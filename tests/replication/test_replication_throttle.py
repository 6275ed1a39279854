"""Tests of the replication throttle, and of the replicas it applies to."""

from pathlib import Path

import pytest
from pybroker.replication.leader.replication_throttle import ReplicationThrottle, is_named
from support.in_process.replicas import TOPIC, Replicas, batch_of, fetch_from, follower


@pytest.mark.parametrize(
    ("throttled", "named"),
    [((), False), (("*",), True), (("3:1",), True), (("2:0", " 3:1 "), True), (("3:2", "1:3"), False), (("",), False)],
)
def test_throttled_replicas_are_read_from_the_topic_setting(throttled: tuple[str, ...], named: bool) -> None:
    assert is_named(throttled, 3, 1) is named


def test_throttle_rate_is_an_average_over_the_windows() -> None:
    throttle = ReplicationThrottle(1000, window_count=3, window_ms=1000)
    assert not throttle.is_exceeded(0)
    throttle.record(1000, 0)
    assert not throttle.is_exceeded(0)  # over one window, as long as there was no more
    throttle.record(1, 10)
    assert throttle.is_exceeded(10)
    assert not throttle.is_exceeded(1001)
    throttle.record(3000, 1500)
    assert throttle.is_exceeded(2999)
    assert throttle.is_exceeded(3500)  # the first window has ended, and its bytes are forgotten
    assert not throttle.is_exceeded(4500)


def test_throttle_without_a_rate_never_applies() -> None:
    throttle = ReplicationThrottle()
    throttle.record(1 << 62, 0)
    assert not throttle.is_exceeded(0)


async def test_leader_throttles_listed_followers_that_are_not_in_sync(tmp_path: Path) -> None:
    topics = {TOPIC: {"leader.replication.throttled.replicas": "0:1"}}
    replicas = Replicas(tmp_path, topics=topics)
    await replicas.order(isr=(1, 2), replicas=(1, 2, 3))
    replicas.partitions.throttle.configure(1, 11, 1000)
    replicas.append(batch_of(b"a"))

    def size_for(replica_id: int) -> int:
        results, _ = replicas.fetch(fetch_from(0), params=follower(replica_id, max_wait_ms=0))
        assert results is not None
        return results[0][1].size_bytes

    assert size_for(3) > 0  # nothing has gone lately
    assert size_for(3) == 0
    assert size_for(2) > 0  # it would drop out of the ISR
    topics[TOPIC]["leader.replication.throttled.replicas"] = "0:2"
    replicas.topics[TOPIC] = topics[TOPIC]
    replicas.changes.topic_settings_changed(TOPIC)
    assert size_for(3) > 0
    replicas.close()
