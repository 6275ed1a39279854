"""Refused batches of partitions whose log is not on the broker: how many are remembered, and for how long."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.replication.leader import refused_without_log
from pybroker.replication.leader.refused_without_log import RefusedWithoutLog
from pybroker.storage.producers.refused_batches import RefusedBatch
from support.in_process.replicas import NOW_MS, TP
from support.time.virtual_timers import VirtualTimers

OTHER = TopicPartition("other", 0)


def not_leader(producer_id: int, refused_ms: int = NOW_MS) -> RefusedBatch:
    return RefusedBatch(producer_id, 0, 5, ErrorCode.NOT_LEADER_OR_FOLLOWER, "not here", refused_ms)


def test_refused_batches_are_removed_within_two_minutes() -> None:
    timers = VirtualTimers()
    refused = RefusedWithoutLog(timers)
    refused.note(TP, not_leader(1))
    timers.advance(30_000)
    refused.note(OTHER, not_leader(2, NOW_MS + 30_000))
    timers.advance(30_000)
    assert (len(refused), refused.take(TP)) == (1, [])
    timers.advance(60_000)
    assert len(refused) == 0
    refused.note(TP, not_leader(1, NOW_MS + 200_000))
    timers.advance(60_000)
    assert len(refused) == 0


def test_partition_refused_longest_ago_is_forgotten_over_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refused_without_log, "MAX_REFUSED", 3)
    refused = RefusedWithoutLog(VirtualTimers())
    for producer_id in (1, 2):
        refused.note(TP, not_leader(producer_id))
        refused.note(OTHER, not_leader(producer_id))
    assert len(refused) == 2
    assert [each.producer_id for each in refused.take(OTHER)] == [1, 2]
    assert refused.take(TP) == []
    for producer_id in range(5):
        refused.note(TP, not_leader(producer_id))
    assert [each.producer_id for each in refused.take(TP)] == [2, 3, 4]
