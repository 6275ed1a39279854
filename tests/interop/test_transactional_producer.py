"""Tests that a transactional producer gets a permanent error at once, because transactions are not served."""

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import KafkaException, Producer
from kafka import KafkaProducer
from support.clients.kafka_tools import TOOLS, run_tool
from support.processes.broker_process import BrokerProcess


@pytest.fixture
def broker_of_ours(broker: object) -> BrokerProcess:
    if not isinstance(broker, BrokerProcess):
        pytest.skip("Apache Kafka serves transactions")
    return broker


def test_librdkafka_transaction_gets_a_fatal_error_with_the_reason(broker_of_ours: BrokerProcess) -> None:
    producer = Producer({"bootstrap.servers": broker_of_ours.bootstrap_servers, "transactional.id": "t"})
    with pytest.raises(KafkaException) as refused:
        producer.init_transactions(60)
    error = refused.value.args[0]
    assert error.fatal()
    assert "does not serve transactions" in error.str()


def test_java_transaction_is_refused_at_init_with_the_reason(broker_of_ours: BrokerProcess) -> None:
    """The tool stops at the first error of initTransactions; a retriable error would be hidden by the producer."""
    told = run_tool(
        f"{TOOLS}.ProducerPerformance",
        *("--topic", "t", "--num-records", "1", "--record-size", "1", "--throughput", "-1"),
        *("--transactional-id", "t", "--transaction-duration-ms", "1000"),
        *("--producer-props", f"bootstrap.servers={broker_of_ours.bootstrap_servers}"),
        expected=1,
    )
    assert "This broker does not serve transactions." in told
    assert "Timeout" not in told


def test_kafka_python_transaction_gets_a_non_retriable_error(broker_of_ours: BrokerProcess) -> None:
    producer = KafkaProducer(bootstrap_servers=broker_of_ours.bootstrap_servers, transactional_id="t")
    with pytest.raises(Exception, match=r"UnsupportedVersion|Transactional") as refused:
        producer.init_transactions()
    assert not getattr(refused.value, "retriable", False)
    producer.close(timeout=0)


async def test_aiokafka_transaction_is_refused_at_start(broker_of_ours: BrokerProcess) -> None:
    producer = AIOKafkaProducer(bootstrap_servers=broker_of_ours.bootstrap_servers, transactional_id="t")
    with pytest.raises(Exception, match=r"UnsupportedVersion|Transactional"):
        await producer.start()
    await producer.stop()
