"""Members of consumer and share groups while a test moves the clock: living members stay, silent ones go."""

from collections.abc import Iterator, Sequence
from uuid import UUID

import pytest
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import consumer_group_heartbeat as h
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from support.clients.wire_client import WireClient
from support.clients.wire_member import wait_for_coordinator
from support.time.patience import HANGS_AFTER_S

SETTINGS = {"offsets.topic.num.partitions": "1"}
MORE_THAN_A_SESSION_S = 46


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS) as broker:
        admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
        admin.create_topics([NewTopic("t", 2, 1)])
        admin.close()
        yield broker


class WireConsumer:
    """A member with a connection of its own. ``assigned``: what the coordinator gave it, and what it gives back at
    once."""

    def __init__(self, broker: BlockingBroker, group: str, name: str) -> None:
        self._client = WireClient(broker.bootstrap_servers, HANGS_AFTER_S)
        self._group = group
        self.member_id = name
        self.epoch = 0
        self.assigned: list[tuple[UUID, Sequence[int]]] = []
        assert self.beat(rebalance_timeout_ms=10_000, subscribed_topic_names=["t"]) is ErrorCode.NONE

    def beat(self, **fields: object) -> ErrorCode:
        request = h.ConsumerGroupHeartbeatRequest(
            group_id=self._group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            topic_partitions=[
                h.RequestTopicPartitions(topic_id=topic, partitions=list(partitions))
                for topic, partitions in self.assigned
            ],
        )
        for name, value in fields.items():
            setattr(request, name, value)
        answer = self._client.ask(request, 1)
        if not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.assigned = [(each.topic_id, each.partitions) for each in answer.assignment.topic_partitions]
        return ErrorCode(answer.error_code)

    @property
    def partitions(self) -> list[int]:
        return [partition for _, partitions in self.assigned for partition in partitions]

    def close(self) -> None:
        self._client.close()


def test_silent_member_of_the_consumer_protocol_is_removed_and_a_living_one_stays(broker: BlockingBroker) -> None:
    wait_for_coordinator(broker.bootstrap_servers, "a")
    living, silent = WireConsumer(broker, "a", "living"), WireConsumer(broker, "a", "silent")
    broker.clock.advance_timers(MORE_THAN_A_SESSION_S, silent=["silent"])
    assert silent.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    assert living.beat() is living.beat() is ErrorCode.NONE
    assert sorted(living.partitions) == [0, 1]
    living.close()
    broker.clock.advance_timers(MORE_THAN_A_SESSION_S)
    again = WireConsumer(broker, "a", "again")
    assert sorted(again.partitions) == [0, 1]
    again.close()
    silent.close()


def test_living_member_keeps_its_time_to_give_partitions_back(broker: BlockingBroker) -> None:
    wait_for_coordinator(broker.bootstrap_servers, "b")
    first, second = WireConsumer(broker, "b", "first"), WireConsumer(broker, "b", "second")
    owned = first.assigned
    assert first.beat() is ErrorCode.NONE  # is told to give one back
    assert sorted(first.partitions) != [0, 1]
    first.assigned = owned
    broker.clock.advance_timers(11)
    assert first.beat() is ErrorCode.NONE
    broker.clock.advance_timers(11, silent=["first"])
    assert first.beat() is ErrorCode.UNKNOWN_MEMBER_ID
    for member in (first, second):
        member.close()


def test_silent_member_of_a_share_group_is_removed_and_a_living_one_stays(broker: BlockingBroker) -> None:
    wait_for_coordinator(broker.bootstrap_servers, "c")
    epochs = {"living": 0, "silent": 0}
    with WireClient(broker.bootstrap_servers, HANGS_AFTER_S) as client:

        def beat(member_id: str) -> ErrorCode:
            request = ShareGroupHeartbeatRequest(group_id="c", member_id=member_id, member_epoch=epochs[member_id])
            request.subscribed_topic_names = ["t"]
            answer = client.ask(request, 1)
            epochs[member_id] = answer.member_epoch
            return ErrorCode(answer.error_code)

        assert beat("living") is beat("silent") is ErrorCode.NONE
        broker.clock.advance_timers(MORE_THAN_A_SESSION_S, silent=["silent"])
        broker.clock.advance_timers(MORE_THAN_A_SESSION_S - 2, silent=["living"])  # its session began anew
        assert beat("living") is ErrorCode.NONE
        assert beat("silent") is ErrorCode.UNKNOWN_MEMBER_ID
