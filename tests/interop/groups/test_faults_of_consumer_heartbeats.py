"""librdkafka's consumers meet errors of ConsumerGroupHeartbeat (KIP-848): the cases of librdkafka's own test 0147."""

import time
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.errors import ErrorCode
from support.clients.topics import create_topic

SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": "50",
    "group.consumer.heartbeat.interval.ms": "50",
    "offsets.topic.num.partitions": "1",
}
HEARTBEAT = "ConsumerGroupHeartbeat"
TOPIC = "orders"
WAIT_S = 60
FATAL = (
    ErrorCode.INVALID_REQUEST,
    ErrorCode.GROUP_MAX_SIZE_REACHED,
    ErrorCode.UNSUPPORTED_ASSIGNOR,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.UNRELEASED_INSTANCE_ID,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
)
FENCED = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_MEMBER_EPOCH)


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS) as broker:
        create_topic(broker.bootstrap_servers, TOPIC, 1)
        yield broker


@pytest.fixture(autouse=True)
def no_fault_is_left(broker: BlockingBroker) -> Iterator[None]:
    yield
    broker.faults.clear()


class Member:
    """A consumer, its assignments, and the error that it told."""

    def __init__(self, broker: BlockingBroker, group: str, topic: str = TOPIC) -> None:
        self.events: list[str] = []
        self.values: list[bytes | None] = []
        self.error: KafkaError | None = None
        self._broker = broker
        self._group = group
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "group.id": group,
                "group.protocol": "consumer",
                "auto.offset.reset": "earliest",
            }
        )
        self._consumer.subscribe(
            [topic],
            on_assign=lambda _, partitions: self._note("assigned", partitions),
            on_revoke=lambda _, partitions: self._note("revoked", partitions),
            on_lost=lambda _, partitions: self._note("lost", partitions),
        )

    def poll_until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + WAIT_S
        while not condition():
            assert time.monotonic() < deadline, (self.events, self.error)
            message = self._consumer.poll(0.02)
            if message is not None and message.error() is None:
                self.values.append(message.value())
            elif message is not None:
                self.error = message.error()

    def close(self) -> None:
        self._consumer.close()

    @property
    def members_of_its_group(self) -> int:
        """How many members the broker counts."""
        admin = AdminClient({"bootstrap.servers": self._broker.bootstrap_servers})
        try:
            return len(admin.describe_consumer_groups([self._group])[self._group].result().members)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return 0
            raise

    def _note(self, event: str, partitions: list[TopicPartition]) -> None:
        if partitions:
            self.events.append(event)


def joined(broker: BlockingBroker, group: str) -> Member:
    member = Member(broker, group)
    member.poll_until(lambda: member.events == ["assigned"])
    return member


@pytest.mark.parametrize("is_member", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("code", FATAL, ids=lambda code: code.name)
def test_fatal_error_of_a_heartbeat_ends_the_consumer_which_does_not_leave(
    broker: BlockingBroker, code: ErrorCode, is_member: bool
) -> None:
    earlier = joined(broker, f"fatal-{code.name}-{is_member}") if is_member else None
    with broker.faults.error(HEARTBEAT, code.name, times=1) as fault:
        member = earlier or Member(broker, f"fatal-{code.name}-{is_member}")
        member.poll_until(lambda: member.error is not None)
    assert fault.fired == 1
    assert member.error is not None
    assert member.error.code() == KafkaError._FATAL
    member.close()
    assert member.events == (["assigned"] if is_member else [])
    assert member.members_of_its_group == int(is_member)


@pytest.mark.parametrize("is_member", [False, True], ids=["first", "later"])
def test_heartbeat_that_meets_a_loading_coordinator_is_repeated(broker: BlockingBroker, is_member: bool) -> None:
    earlier = joined(broker, f"loading-{is_member}") if is_member else None
    with broker.faults.error(HEARTBEAT, "COORDINATOR_LOAD_IN_PROGRESS", times=2) as fault:
        member = earlier or Member(broker, f"loading-{is_member}")
        member.poll_until(lambda: fault.fired == 2 and member.events == ["assigned"])
    member.close()
    assert (member.error, member.events) == (None, ["assigned", "revoked"])
    assert member.members_of_its_group == 0


@pytest.mark.parametrize("is_member", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("code", FENCED, ids=lambda code: code.name)
def test_fenced_consumer_loses_its_partitions_and_joins_again(
    broker: BlockingBroker, code: ErrorCode, is_member: bool
) -> None:
    earlier = joined(broker, f"fenced-{code.name}-{is_member}") if is_member else None
    with broker.faults.error(HEARTBEAT, code.name, times=1) as fault:
        member = earlier or Member(broker, f"fenced-{code.name}-{is_member}")
        expected = ["assigned", "lost", "assigned"] if is_member else ["assigned"]
        member.poll_until(lambda: member.events == expected)
    assert fault.fired == 1
    member.close()
    assert (member.error, member.events) == (None, [*expected, "revoked"])
    assert member.members_of_its_group == 0


def test_consumer_reads_an_assigned_topic_once_its_id_is_known(broker: BlockingBroker) -> None:
    create_topic(broker.bootstrap_servers, "late", 1)
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("late", b"value")
    assert producer.flush() == 0
    with broker.faults.error("Metadata", "UNKNOWN_TOPIC_ID", topic="late") as fault:
        member = Member(broker, "unknown-id", "late")
        member.poll_until(lambda: fault.fired >= 2 and member.members_of_its_group == 1)
        assert (member.values, member.events) == ([], [])
    member.poll_until(lambda: member.values == [b"value"])
    assert member.error is None
    member.close()
