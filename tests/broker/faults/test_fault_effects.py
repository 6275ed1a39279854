"""Effects of faults on a running broker: the items that are failed and served, and requests that wait."""

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.requests.dispatch import Dispatcher
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.records.batch import iter_batches
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of
from support.load.request_of_each_api import plain_request

ERROR = ErrorCode.NOT_LEADER_OR_FOLLOWER
TOPICS = ("t", "u")


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker({"offsets.topic.num.partitions": "1"}) as broker, WireClient(broker.bootstrap_servers) as client:
        topics = [{"name": name, "num_partitions": 2, "replication_factor": 1} for name in TOPICS]
        client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=topics, timeout_ms=60_000), 5)
        yield broker


@pytest.fixture
def client(broker: BlockingBroker) -> Iterator[WireClient]:
    with WireClient(broker.bootstrap_servers, 20) as client:
        yield client
    broker.faults.clear()


def handler_of(broker: BlockingBroker) -> Any:
    server = broker._broker._server
    assert server is not None
    assert server._listeners is not None
    return server._listeners.handler


def produce(*items: tuple[str, int], acks: int = 1) -> Any:
    topics = [
        {
            "name": name,
            "partition_data": [
                {"index": index, "records": batch_of(b"value")} for each, index in items if each == name
            ],
        }
        for name in dict.fromkeys(name for name, _ in items)
    ]
    return plain_request(ApiKey.PRODUCE, acks=acks, timeout_ms=10_000, topic_data=topics)


def fetch(*items: tuple[str, int], **fields: Any) -> Any:
    topics = [
        {"topic": name, "partitions": [{"partition": index, "fetch_offset": 0, "partition_max_bytes": 1 << 20}]}
        for name, index in items
    ]
    return plain_request(ApiKey.FETCH, max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=topics, **fields)


def codes_of_produce(response: Any) -> dict[tuple[str, int], int]:
    return {
        (topic.name, each.index): each.error_code for topic in response.responses for each in topic.partition_responses
    }


def end_of(client: WireClient, topic: str, partition: int) -> int:
    partitions = [{"partition_index": partition, "timestamp": -1, "current_leader_epoch": -1}]
    topics = [{"name": topic, "partitions": partitions}]
    response = client.ask(plain_request(ApiKey.LIST_OFFSETS, replica_id=-1, topics=topics), 5)
    return int(response.topics[0].partitions[0].offset)


def test_only_the_named_partition_fails_and_the_others_are_written(broker: BlockingBroker, client: WireClient) -> None:
    items = (("t", 0), ("t", 1), ("u", 0))
    before = {item: end_of(client, *item) for item in items}
    with broker.faults.error("Produce", ERROR.name, topic="t", partition=1) as fault:
        response = client.ask(produce(*items), 7)
    assert codes_of_produce(response) == {("t", 0): 0, ("t", 1): ERROR, ("u", 0): 0}
    assert fault.fired == 1
    written = {item: end_of(client, *item) - before[item] for item in items}
    assert written == {("t", 0): 1, ("t", 1): 0, ("u", 0): 1}


def test_each_partition_gets_the_error_of_the_first_fault_that_names_it(
    broker: BlockingBroker, client: WireClient
) -> None:
    first = broker.faults.error("Produce", "KAFKA_STORAGE_ERROR", topic="t", partition=1)
    second = broker.faults.error("Produce", ERROR.name, topic="t")
    third = broker.faults.error("Produce", "INVALID_RECORD", topic="t")
    response = client.ask(produce(("t", 0), ("t", 1), ("u", 0)), 7)
    expected = {("t", 0): ERROR, ("t", 1): ErrorCode.KAFKA_STORAGE_ERROR, ("u", 0): 0}
    assert codes_of_produce(response) == expected
    assert [fault.fired for fault in (first, second, third)] == [1, 1, 0]


def test_fault_fires_after_so_many_requests_and_so_often(broker: BlockingBroker, client: WireClient) -> None:
    fault = broker.faults.error("Produce", ERROR.name, topic="t", client="wi*", times=2, after=1)
    codes = [codes_of_produce(client.ask(produce(("t", 0)), 7))["t", 0] for _ in range(5)]
    assert codes == [0, ERROR, ERROR, 0, 0]
    assert fault.fired == 2
    assert type(handler_of(broker)) is Dispatcher, "the plain dispatcher is back"


def test_fault_of_another_client_group_or_topic_does_not_fire(broker: BlockingBroker, client: WireClient) -> None:
    faults = [
        broker.faults.error("Produce", ERROR.name, client="other-*"),
        broker.faults.error("Produce", ERROR.name, topic="u"),
        broker.faults.error("Produce", ERROR.name, topic="t", partition=1),
        broker.faults.error("Heartbeat", "REBALANCE_IN_PROGRESS", group="other"),
    ]
    assert codes_of_produce(client.ask(produce(("t", 0)), 7))["t", 0] == 0
    heartbeat = plain_request(ApiKey.HEARTBEAT, group_id="g", generation_id=1, member_id="m")
    assert client.ask(heartbeat, 3).error_code != ErrorCode.REBALANCE_IN_PROGRESS
    assert [fault.fired for fault in faults] == [0, 0, 0, 0]


def test_refused_produce_without_acks_closes_the_connection(broker: BlockingBroker) -> None:
    with broker.faults.error("Produce", ERROR.name) as fault, WireClient(broker.bootstrap_servers, 20) as client:
        client.send(produce(("t", 0), acks=0), 7)
        with pytest.raises((AssertionError, ConnectionResetError), match=r"closed the connection|reset"):
            client.ask(ApiVersionsRequest(), 0)
    assert fault.fired == 1


def test_fetch_of_a_session_gets_the_error_of_a_topic_that_it_does_not_name_again(
    broker: BlockingBroker, client: WireClient
) -> None:
    session = client.ask(fetch(("t", 0), session_epoch=0), 11).session_id
    assert session
    with broker.faults.error("Fetch", ERROR.name, topic="t") as fault:
        again = client.ask(fetch(session_id=session, session_epoch=1), 11)
        assert again.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        full = client.ask(fetch(("t", 0), ("u", 0), session_epoch=0), 11)
    assert fault.fired == 1
    assert full.error_code == 0
    assert {each.topic: each.partitions[0].error_code for each in full.responses} == {"t": ERROR, "u": 0}


def test_corrupted_batch_has_one_wrong_bit_and_the_log_is_untouched(broker: BlockingBroker, client: WireClient) -> None:
    client.ask(produce(("u", 1)), 7)

    def batches() -> list[bool]:
        records = client.ask(fetch(("u", 1)), 11).responses[0].partitions[0].records
        return [batch.is_valid_crc() for batch in iter_batches(records)]

    with broker.faults.corrupt(topic="u", partition=1, times=1) as fault:
        assert not batches()[0]
    assert fault.fired == 1
    assert all(batches())


def test_throttled_client_is_told_and_must_wait(broker: BlockingBroker, client: WireClient) -> None:
    with broker.faults.throttle("Produce", 200, times=1):
        started = time.monotonic()
        assert client.ask(produce(("t", 0)), 7).throttle_time_ms == 200
        assert client.ask(produce(("t", 0)), 7).throttle_time_ms == 0
    assert time.monotonic() - started >= 0.2


def test_request_behind_a_delayed_one_is_carried_out_after_it(broker: BlockingBroker) -> None:
    before = None
    with WireClient(broker.bootstrap_servers, 20) as client, WireClient(broker.bootstrap_servers, 20) as other:
        before = end_of(other, "t", 0)
        with broker.faults.delay("Produce", 300, topic="t", partition=0, times=1) as fault:
            started = time.monotonic()
            client.send(produce(("t", 0)), 7)
            fault.wait_fired(1, 20)
            assert end_of(other, "t", 0) == before, "other connections go on, and the request has not begun"
            assert codes_of_produce(client.receive())["t", 0] == 0
            assert time.monotonic() - started >= 0.3
    with WireClient(broker.bootstrap_servers, 20) as client:
        assert end_of(client, "t", 0) == before + 1


def test_hanging_requests_start_in_order_when_the_fault_is_removed(broker: BlockingBroker, client: WireClient) -> None:
    fault = broker.faults.hang("Produce", topic="t", partition=1)
    with WireClient(broker.bootstrap_servers, 20) as hanging:
        before = end_of(client, "t", 1)
        hanging.send(produce(("t", 1)), 7)
        fault.wait_fired(1, 20)
        assert not hanging.is_answered()
        assert end_of(client, "t", 1) == before
        fault.remove()
        topic = hanging.receive().responses[0]
        assert topic.partition_responses[0].base_offset == before


def test_hanging_request_whose_client_went_away_never_starts(broker: BlockingBroker, client: WireClient) -> None:
    before = end_of(client, "t", 1)
    with broker.faults.hang("Produce", topic="t", partition=1) as fault:
        with WireClient(broker.bootstrap_servers, 20) as hanging:
            hanging.send(produce(("t", 1)), 7)
            fault.wait_fired(1, 20)
            client.ask(ApiVersionsRequest(), 0)  # the event loop has gone on since: the request is held
        handler = handler_of(broker)
        deadline = time.monotonic() + 20
        while handler.held_count and time.monotonic() < deadline:
            client.ask(ApiVersionsRequest(), 0)
        assert handler.held_count == 0
    assert end_of(client, "t", 1) == before


def code_on_a_new_connection(broker: BlockingBroker) -> int:
    with WireClient(broker.bootstrap_servers, 20) as client:
        return int(client.ask(ApiVersionsRequest(), 0).error_code)


def test_refused_connection_is_counted_and_open_ones_go_on(broker: BlockingBroker, client: WireClient) -> None:
    client.ask(ApiVersionsRequest(), 0)  # the broker has accepted its connection
    with broker.faults.refuse_connections(times=1) as fault:
        with pytest.raises((AssertionError, OSError)):
            code_on_a_new_connection(broker)
        assert fault.fired == 1
        assert client.ask(ApiVersionsRequest(), 0).error_code == 0
        assert code_on_a_new_connection(broker) == 0


def test_metadata_of_a_topic_with_an_error_names_the_brokers(broker: BlockingBroker, client: WireClient) -> None:
    request = plain_request(ApiKey.METADATA, topics=[{"name": "t"}])
    with broker.faults.error("Metadata", "UNKNOWN_TOPIC_ID", topic="t") as fault:
        for version in (1, 12):
            answer = client.ask(request, version)
            assert [each.error_code for each in answer.topics] == [ErrorCode.UNKNOWN_TOPIC_ID]
            assert len(answer.brokers) == 1
    assert fault.fired == 2


def test_metadata_of_all_topics_has_the_error_at_the_topic(broker: BlockingBroker, client: WireClient) -> None:
    request = plain_request(ApiKey.METADATA, topics=None)
    with broker.faults.error("Metadata", "LEADER_NOT_AVAILABLE", topic="t") as fault:
        codes = {topic.name: topic.error_code for topic in client.ask(request, 9).topics}
    assert fault.fired == 1
    assert codes["t"] == ErrorCode.LEADER_NOT_AVAILABLE
    assert codes["u"] == 0


def test_fault_stays_over_a_restart() -> None:
    with Broker() as broker:
        fault = broker.faults.error("ApiVersions", "UNSUPPORTED_VERSION")
        broker.restart()
        with WireClient(broker.bootstrap_servers, 20) as client:
            assert client.ask(ApiVersionsRequest(), 0).error_code == ErrorCode.UNSUPPORTED_VERSION
        assert fault.fired == 1
        fault.remove()


def test_broker_with_a_hanging_request_stops_without_waiting_for_it() -> None:
    with Broker() as broker, WireClient(broker.bootstrap_servers, 20) as client:
        fault = broker.faults.hang("ApiVersions")
        client.send(ApiVersionsRequest(), 0)
        fault.wait_fired(1, 20)
        broker.stop()
        assert not broker.is_running


def test_waiting_for_a_fault_that_does_not_fire_ends_with_its_count(broker: BlockingBroker) -> None:
    with broker.faults.hang("Heartbeat") as fault, pytest.raises(TimeoutError, match="has fired 0 times"):
        fault.wait_fired(1, 0.01)


def test_faults_may_be_set_on_several_threads_at_once(broker: BlockingBroker, client: WireClient) -> None:
    def work() -> None:
        for _ in range(50):
            broker.faults.error("Heartbeat", "NOT_COORDINATOR").remove()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert broker.faults.all() == []
    assert type(handler_of(broker)) is Dispatcher


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_lost_response_makes_a_duplicate_unless_the_producer_is_idempotent(
    broker: BlockingBroker, client: WireClient, is_idempotent: bool
) -> None:
    before = end_of(client, "u", 0)
    producer = KafkaProducer(
        bootstrap_servers=broker.bootstrap_servers, enable_idempotence=is_idempotent, acks="all", retries=5
    )
    try:
        with broker.faults.drop_response("Produce", topic="u", times=1) as fault:
            producer.send("u", b"once", partition=0).get(30)
        assert fault.fired == 1
    finally:
        producer.close()
    assert end_of(client, "u", 0) - before == (1 if is_idempotent else 2)


def test_kafka_python_reads_on_after_errors_and_a_lost_response(broker: BlockingBroker, client: WireClient) -> None:
    client.ask(produce(("u", 1)), 7)
    end = end_of(client, "u", 1)
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
    try:
        partition = TopicPartition("u", 1)
        consumer.assign([partition])
        consumer.seek(partition, end - 1)
        faults = [
            broker.faults.error("Fetch", ERROR.name, topic="u", times=2),
            broker.faults.drop_response("Fetch", topic="u", times=1),
        ]
        records: list[Any] = []
        deadline = time.monotonic() + 30
        while not records and time.monotonic() < deadline:
            records = [each for batch in consumer.poll(500).values() for each in batch]
        assert records[0].offset == end - 1
        assert [fault.fired for fault in faults] == [2, 1]
    finally:
        consumer.close()
