"""The plugin runs a project's tests against Apache Kafka 3.9.1."""

import pytest
from pybroker.broker.library.cluster.zookeeper_jars import find_jars, find_java
from pybroker.broker.start_error import StartError
from support.plugin_runs import run_inside

TESTS = """
import pytest

@pytest.mark.kafka(topics={"orders": 2})
def test_clients(kafka_broker, kafka_topic, kafka_group):
    producer = kafka_broker.producer(acks="all")
    producer.send(kafka_topic, b"x").get(30)
    consumer = kafka_broker.consumer(kafka_topic, group_id=kafka_group)
    assert next(consumer).value == b"x"
    consumer.commit()
    assert len(kafka_broker.admin().describe_topics([kafka_topic, "orders"])[0]["partitions"]) == 1

@pytest.mark.asyncio
async def test_coroutines(kafka_broker_session, kafka_topic):
    async with kafka_broker_session.aio_producer() as producer:
        await producer.send_and_wait(kafka_topic, b"y")
    async with kafka_broker_session.aio_consumer(kafka_topic) as consumer:
        assert (await consumer.getone()).value == b"y"

@pytest.mark.kafka(settings={"message.max.bytes": 2000})
def test_settings(kafka_broker, kafka_topic):
    with pytest.raises(Exception, match="MessageSizeTooLarge"):
        kafka_broker.producer().send(kafka_topic, b"x" * 3000).get(30)

def test_helpers(kafka_broker_session, kafka_topic):
    broker = kafka_broker_session
    assert broker.append(kafka_topic, b"x", b"y") == broker.wait_records(kafka_topic, 2) == broker.records(kafka_topic)
    consumer = broker.consumer(kafka_topic, group_id="readers")
    next(consumer)
    broker.wait_assigned("readers")
    consumer.commit()
    assert broker.lag("readers") == 1

def test_snapshot(kafka_broker_session): kafka_broker_session.snapshot()
def test_faults(kafka_faults, kafka_broker_session): ...
def test_clock(kafka_clock, kafka_broker_session): ...
def test_cluster(kafka_cluster): ...
@pytest.mark.kafka(as_version="2.8")
def test_version(kafka_broker): ...
@pytest.mark.kafka(mode="process")
def test_process(kafka_broker): ...
@pytest.mark.kafka(settings={"pybroker.http.listeners": ""})
def test_own_setting(kafka_broker): ...
"""
REASONS = (
    "snapshot needs a broker that the test starts, and --kafka names another cluster",
    "faults needs a broker that the test starts, and --kafka names another cluster",
    "clock needs a broker that the test starts, and --kafka names another cluster",
    "kafka_cluster starts brokers of its own, and --kafka names another cluster",
    "as_version='2.8' needs pybroker, and --kafka names another cluster",
    "mode='process' needs pybroker, and --kafka names another cluster",
    "the setting pybroker.http.listeners needs pybroker, and --kafka names another cluster",
)


@pytest.mark.long
def test_project_runs_on_apache_kafka_and_skips_what_only_pybroker_has(pytester: pytest.Pytester) -> None:
    try:
        find_java()
        jars = find_jars(None)
    except StartError as error:
        pytest.skip(str(error))
    if not any(jars.glob("kafka_2.1*.jar")):
        pytest.skip(f"{jars} has no jar of Kafka's broker")
    pytester.makepyfile(TESTS)
    result = run_inside(pytester, "--kafka=apache", "-rs")
    result.assert_outcomes(passed=4, skipped=len(REASONS))
    for reason in REASONS:
        assert reason in result.stdout.str()
