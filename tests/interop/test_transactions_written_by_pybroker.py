"""Apache Kafka 3.9.1 coordinates transactional ids whose records pybroker has encoded."""

from pathlib import Path

import pytest
from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import produce
from interop.side_by_side.transaction_stage import DATA, PARTITIONS, SETTINGS, Stage, Subject, end_txn
from pybroker.base.coordinator_partition import partition_for_key
from pybroker.base.kafka_names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.records import encode_key, encode_value
from pybroker.broker.coordinator.transaction.states import ENDING_STATES, TransactionState
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.record import Record
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.time.patience import await_answer

EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT, *_ = TransactionState
STORED = (EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT)
AFTER_THE_LOAD = {PREPARE_COMMIT: COMPLETE_COMMIT, PREPARE_ABORT: COMPLETE_ABORT}
OPEN = frozenset({TopicPartition(DATA, 0), TopicPartition(DATA, 1), TopicPartition(CONSUMER_OFFSETS_TOPIC, 2)})
NEVER_TIMED_OUT_MS = 600_000


def picture(state: TransactionState, now_ms: int) -> TransactionPicture:
    """The epoch and id differ from state to state."""
    return TransactionPicture(
        state,
        ProducerIdentity(50_000 + state, 7 + state),
        NEVER_TIMED_OUT_MS,
        OPEN if state is ONGOING or state in ENDING_STATES else frozenset(),
        -1 if state is EMPTY else now_ms,
        now_ms,
    )


def store(port: int, records: list[tuple[str, TransactionPicture | None]], now_ms: int) -> None:
    """Append the records; Kafka accepts them for an internal topic from the client id of its own admin client."""
    talk = Conversation(("127.0.0.1", port), "pictures")
    for name, stored in records:
        value = None if stored is None else encode_value(stored, 0)
        batch = build_batch([Record(0, now_ms, encode_key(name), value)])
        request = produce(TRANSACTION_STATE_TOPIC, batch, partition=partition_for_key(name, PARTITIONS))
        answer = talk.ask(request, 9, client_id="__admin_client")
        assert not answer.responses[0].partition_responses[0].error_code, answer
    talk.close()


@pytest.fixture
def zookeeper(tmp_path: Path) -> ZooKeeperProcess:
    return ZooKeeperProcess(tmp_path / "zookeeper").start()


def test_kafka_goes_on_with_ids_that_pybroker_stored_in_every_state(
    tmp_path: Path, zookeeper: ZooKeeperProcess
) -> None:
    kafka = KafkaProcess(tmp_path / "kafka", zookeeper, SETTINGS)
    try:
        kafka.start()
        with Stage(kafka.bootstrap_servers) as stage:
            alone = {index: [0] for index in range(PARTITIONS)}
            topics = {DATA: {0: [0], 1: [0]}, CONSUMER_OFFSETS_TOPIC: alone, TRANSACTION_STATE_TOPIC: alone}
            stage.create_topics(topics, brokers=[0])
            stage.await_coordinators()
            now_ms = stage.describe(stage.ongoing().transactional_id).transaction_start_time_ms
        pictures = {f"stored-{state.title}": picture(state, now_ms) for state in STORED}
        store(kafka.port, [*pictures.items(), ("deleted", picture(ONGOING, now_ms)), ("deleted", None)], now_ms)
        kafka.stop()
        kafka.start()
        with Stage(kafka.bootstrap_servers) as stage:
            check(stage, pictures)
    finally:
        kafka.kill()
        zookeeper.kill()


def check(stage: Stage, pictures: dict[str, TransactionPicture]) -> None:
    for name, stored in pictures.items():
        expected = AFTER_THE_LOAD.get(stored.state, stored.state).title
        found = await_answer(
            lambda: stage.describe(name),  # noqa: B023
            lambda found: found.transaction_state == expected,  # noqa: B023
            f"{name} is {expected}",
        )
        assert (found.producer_id, found.producer_epoch) == stored.producer[:2]
        assert (found.transaction_timeout_ms, found.transaction_start_time_ms) == (stored.timeout_ms, stored.start_ms)
        partitions = {TopicPartition(topic.topic, index) for topic in found.topics for index in topic.partitions}
        assert partitions == (OPEN if stored.state is ONGOING else frozenset())
    assert stage.describe("deleted").error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    name = f"stored-{ONGOING.title}"
    subject = Subject(name, pictures[name].producer.producer_id, pictures[name].producer.epoch)
    assert not stage.client.ask(end_txn(subject, committed=True), 3).error_code
    assert stage.settled(subject).transaction_state == COMPLETE_COMMIT.title
