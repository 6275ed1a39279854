"""Appends of coordinators with a callback, to partitions on this broker."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.append_bridge import AppendBridge
from pybroker.broker.coordinator.internal_log import AppendOutcome, InternalAppend
from pybroker.broker.coordinator.internal_topic import InternalTopic, transaction_state_settings
from pybroker.broker.metadata.metadata_cache import MetadataCache
from pybroker.config.load import unchecked_config
from pybroker.protocol.errors import KafkaError, NotLeaderOrFollowerError
from support.in_process.replicas import NOW_MS, Replicas, batch_of, fetch_from, follower
from support.time.loop_turns import let_the_loop_turn

STATE = TopicPartition("__transaction_state", 0)
RECORDS = InternalAppend(STATE.partition, batch_of(b"state"))


@pytest.fixture
async def replicas(tmp_path: Path) -> AsyncIterator[Replicas]:
    replicas = Replicas(tmp_path)
    yield replicas
    replicas.close()


def bridge_to(replicas: Replicas) -> AppendBridge:
    settings = transaction_state_settings(unchecked_config("", {}))
    return AppendBridge(InternalTopic(settings, replicas.partitions, MetadataCache(), lambda: NOW_MS))


async def test_append_that_is_committed_at_once_is_reported_before_the_call_returns(replicas: Replicas) -> None:
    await replicas.order(STATE)
    outcomes: list[AppendOutcome] = []
    bridge = bridge_to(replicas)
    for base_offset in (0, 1):
        bridge.append(RECORDS, outcomes.append)
        assert outcomes[base_offset:] == [base_offset]
    await bridge.drain()
    assert outcomes == [0, 1]


async def test_append_that_is_refused_at_once_is_reported_once_with_the_error(replicas: Replicas) -> None:
    await replicas.order(STATE)
    outcomes: list[AppendOutcome] = []
    bridge = bridge_to(replicas)
    bridge.append(RECORDS._replace(records=RECORDS.records[:-1] + b"?"), outcomes.append)
    bridge.abandon_all()
    (error,) = outcomes
    assert isinstance(error, KafkaError)
    assert replicas.hosted(STATE).log.log_end_offset == 0


async def test_append_is_reported_when_the_followers_have_it(replicas: Replicas) -> None:
    await replicas.order(STATE, isr=(1, 2), replicas=(1, 2))
    outcomes: list[AppendOutcome] = []
    bridge_to(replicas).append(RECORDS, outcomes.append)
    await let_the_loop_turn()
    assert outcomes == []
    replicas.fetch(fetch_from(1, STATE), params=follower(2))
    await let_the_loop_turn()
    assert outcomes == [0]


async def test_abandoned_append_is_reported_once_though_it_is_committed_later(replicas: Replicas) -> None:
    await replicas.order(STATE, isr=(1, 2), replicas=(1, 2))
    outcomes: list[AppendOutcome] = []
    bridge = bridge_to(replicas)
    bridge.append(RECORDS, outcomes.append)
    bridge.abandon(STATE.partition)
    replicas.fetch(fetch_from(1, STATE), params=follower(2))
    await let_the_loop_turn()
    (error,) = outcomes
    assert isinstance(error, NotLeaderOrFollowerError)
