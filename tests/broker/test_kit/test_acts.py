"""Acts: what a test makes a broker do at once."""

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from inspect import iscoroutinefunction
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.broker.test_kit.act_error import ActError
from pybroker.broker.test_kit.act_steps import STEPS, ActSteps
from pybroker.broker.test_kit.acts import Acts
from pybroker.broker.test_kit.blocking_acts import BlockingActs
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of
from support.load.request_of_each_api import plain_request

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker(SETTINGS) as broker, WireClient(broker.bootstrap_servers) as client:
        topics = [{"name": name, "num_partitions": 1, "replication_factor": 1} for name in ("t", "open")]
        client.ask(plain_request(ApiKey.CREATE_TOPICS, topics=topics, timeout_ms=60_000), 5)
        yield broker


def produce_code(client: WireClient, topic: str = "t") -> int:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batch_of(b"value")}]}]
    response = client.ask(plain_request(ApiKey.PRODUCE, acks=1, timeout_ms=10_000, topic_data=data), 7)
    return int(response.responses[0].partition_responses[0].error_code)


def test_fenced_producer_cannot_go_on(broker: BlockingBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "transactional.id": "fenced"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("t", b"value")
    producer.flush(30)
    before = broker.acts.fence("fenced")
    assert broker.acts.fence("fenced")["producer_epoch"] == before["producer_epoch"] + 1
    with pytest.raises(KafkaException):
        producer.commit_transaction(30)


def test_open_transaction_holds_readers_of_committed_records(broker: BlockingBroker) -> None:
    left = broker.acts.leave_open("left", "open")
    assert left["offset"] == 0
    with WireClient(broker.bootstrap_servers, 20) as client:
        assert produce_code(client, "open") == 0
    consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
    try:
        consumer.assign([TopicPartition("open", 0, 0)])
        partition = TopicPartition("open", 0)
        assert consumer.get_watermark_offsets(partition, timeout=20)[1] == 0, "the last stable offset"
        broker.acts.fence("left")
        low_high = consumer.get_watermark_offsets(partition, timeout=20)
        assert low_high[1] == 3, "the record, the one behind it, and the marker"
    finally:
        consumer.close()


def test_leader_cannot_move_to_a_broker_without_a_replica(broker: BlockingBroker) -> None:
    with pytest.raises(ValueError, match="broker 7 has no replica of t-0"):
        broker.acts.move_leader("t", 0, 7)
    with pytest.raises(ValueError, match="topic 't' has no partition 9"):
        broker.acts.move_leader("t", 9, 7)
    with pytest.raises(ActError, match="no other broker has a replica of __consumer_offsets-0"):
        broker.acts.move_coordinator("g")


def test_rounds_of_upkeep_end(broker: BlockingBroker) -> None:
    broker.acts.apply_retention()
    broker.acts.compact()
    broker.acts.expire_offsets()


def test_act_on_a_stopped_broker_is_refused() -> None:
    async def work() -> None:
        with pytest.raises(ActError, match="the broker does not run"):
            await Broker().acts.fence("t")

    asyncio.run(work())


LONG_ACTS: dict[str, Callable[[BlockingActs], object]] = {
    "fence": lambda acts: acts.fence("t"),
    "leave_open": lambda acts: acts.leave_open("t", "t"),
    "compact": lambda acts: acts.compact("t"),
    "move_leader": lambda acts: acts.move_leader("t", 0, 1),
    "move_coordinator": lambda acts: acts.move_coordinator("g"),
}


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_act_under_way_ends_with_its_broker(end: str) -> None:
    """The handlers that the acts ask never answer, as those of a broker that is dead."""
    with Broker(SETTINGS) as broker, ThreadPoolExecutor() as threads:
        for act in LONG_ACTS.values():
            is_asked = threading.Event()
            _answer_never(broker, is_asked)
            done = threads.submit(act, broker.acts)
            assert is_asked.wait(20)
            getattr(broker, end)()
            with pytest.raises(ActError, match="the broker ended meanwhile"):
                done.result(20)
            broker.start()


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_helper_that_waits_ends_with_its_broker(end: str) -> None:
    with Broker(SETTINGS) as broker, ThreadPoolExecutor() as threads:
        broker.create_topic("t")
        waits: list[Callable[[], object]] = [
            lambda: broker.wait_records("t", 1, timeout=20),
            lambda: broker.wait_records("missing", 1, timeout=20),
            lambda: broker.wait_assigned("g", timeout=20),
            lambda: broker.wait_committed("g", "t", 0, 1, timeout=20),
        ]
        done = [threads.submit(wait) for wait in waits]
        while len(asyncio.all_tasks(broker._thread._loop)) < 2 * len(waits):
            pass
        getattr(broker, end)()
        for each in done:
            with pytest.raises(ActError, match="the broker ended meanwhile"):
                each.result(20)


def _answer_never(broker: BlockingBroker, is_asked: threading.Event) -> None:
    dispatcher = broker._broker._kit._dispatcher
    assert dispatcher is not None

    async def never(*_: object) -> None:
        is_asked.set()
        await asyncio.get_running_loop().create_future()

    for key in (ApiKey.METADATA, ApiKey.FIND_COORDINATOR):
        dispatcher.handlers[key] = never  # type: ignore[index]


def test_every_act_that_waits_ends_with_its_broker() -> None:
    instant = {"pause", "disk_fail", "disk_full", "disk_heal", "disk_slow"}
    methods = {name: act for name, act in vars(Acts).items() if iscoroutinefunction(act) and not name.startswith("_")}
    methods |= {name: getattr(ActSteps, name) for name in STEPS}
    assert {name for name, act in methods.items() if not hasattr(act, "__wrapped__")} == instant


@pytest.mark.parametrize("text", ["\ud800", "x" * 32_768, "", None, 7], ids=["half", "long", "empty", "None", "number"])
def test_act_with_a_text_that_kafka_cannot_have_is_refused_and_harms_nothing(broker: BlockingBroker, text: Any) -> None:
    acts: list[Callable[[], object]] = [
        lambda: broker.acts.fence(text),
        lambda: broker.acts.leave_open(text, "t"),
        lambda: broker.acts.leave_open("t", text),
        lambda: broker.acts.move_leader(text, 0, 1),
        lambda: broker.acts.move_coordinator(text),
        *([lambda: broker.acts.compact(text)] if text is not None else []),
        *([lambda: broker.faults.hang("Fetch", topic=text)] if text not in (None, "") else []),
    ]
    for act in acts:
        with pytest.raises(ValueError, match=r" is a text") as refused:
            act()
        assert len(str(refused.value)) < 200
    assert broker.is_running
    assert broker.faults.all() == []


@pytest.mark.parametrize("text", ["\ud800", "x" * 32_768], ids=["half", "long"])
def test_id_that_cannot_be_stored_is_an_error_of_its_request_alone(broker: BlockingBroker, text: str) -> None:
    """No check of the test kit is before the handlers here."""

    async def ask() -> int:
        request = plain_request(ApiKey.INIT_PRODUCER_ID, transactional_id=text, transaction_timeout_ms=60_000)
        own = broker._broker._kit._requests()
        return int((await own.ask(ApiKey.INIT_PRODUCER_ID, 4, request)).error_code)

    broker.acts.fence("makes the topic of transactions")
    assert broker._thread.call(ask()) == ErrorCode.UNKNOWN_SERVER_ERROR
    assert broker.is_running


def test_fence_keeps_to_the_longest_transaction_of_the_broker() -> None:
    with Broker({**SETTINGS, "transaction.max.timeout.ms": 5_000}) as broker:
        assert broker.acts.fence("t")["producer_epoch"] == 0
