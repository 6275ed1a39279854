"""The documents of a real broker: they tell what clients did, and no secret."""

import asyncio
import gc
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from pybroker.broker.http.request import HttpRequest
from pybroker.broker.library.broker import Broker
from pybroker.broker.v1.answers import Answers
from pybroker.broker.v1.known_state import KnownState
from pybroker.broker.v1.routes import PATHS
from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pybroker.protocol.messages.update_metadata import (
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)
from pybroker.views.resources import RESOURCES
from support.clients.http_client import HttpClient
from support.clients.wire_client import WireClient
from support.clients.wire_member import wait_for_coordinator
from support.time.patience import HANGS_AFTER_S

CANARY = "canary-7c1f"
HTTP = {"pybroker.http.listeners": "HTTP://127.0.0.1:0"}


@asynccontextmanager
async def client_of(broker: Broker) -> AsyncIterator[HttpClient]:
    assert broker.http_url is not None
    async with HttpClient(int(broker.http_url.rpartition(":")[2])) as client:
        yield client


async def get(client: HttpClient, path: str) -> Any:
    response = await client.get(path)
    assert response.status == 200, response.body
    return response.json()


async def make_topic(broker: Broker, name: str, partitions: int = 1, **settings: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(name, partitions, 1, topic_configs=settings)])
    finally:
        await admin.close()


async def produce(broker: Broker, topic: str, count: int, from_ms: int | None = None) -> None:
    """``from_ms``: the timestamp of the first record; each further one is a second younger."""
    async with AIOKafkaProducer(bootstrap_servers=broker.bootstrap_servers, enable_idempotence=True) as producer:
        for number in range(count):
            time_ms = None if from_ms is None else from_ms + 1000 * number
            await producer.send_and_wait(topic, b"%d" % number, key=b"k", partition=0, timestamp_ms=time_ms)


def test_every_resource_has_a_route() -> None:
    assert list(PATHS) == [resource.path for resource in RESOURCES]


async def test_topic_is_shown_with_its_offsets_settings_and_producers() -> None:
    async with Broker(HTTP) as broker, client_of(broker) as client:
        await make_topic(broker, "orders", 2, **{"retention.ms": "60000", "cleanup.policy": "compact,delete"})
        began_ms = round(time.time() * 1000) - 10_000
        await produce(broker, "orders", 7, began_ms)
        shown = await get(client, "/v1/topics/orders")
        row = shown["topic"]
        assert (row["partitions"], row["leaders_here"], row["records"]) == (2, 2, 7)
        assert (row["cleanup_policy"], row["retention_ms"], row["retention_bytes"]) == ("compact,delete", 60_000, None)
        assert row["size_bytes"] == row["size_on_disk_bytes"] == sum(each["size_bytes"] for each in shown["partitions"])
        first, second = shown["partitions"]
        assert (first["start_offset"], first["end_offset"], first["log_end_offset"]) == (0, 7, 7)
        assert (second["end_offset"], second["oldest_ms"]) == (0, None)
        assert first["oldest_ms"] == began_ms
        (producer,) = shown["producers"]
        assert (producer["last_sequence"], producer["open_transaction_start_offset"]) == (6, None)
        settings = {each["name"]: each for each in shown["settings"]}
        assert settings["retention.ms"]["source"] == "topic_config"
        assert (settings["segment.bytes"]["source"], settings["segment.bytes"]["value"]) == (
            "default_config",
            settings["segment.bytes"]["default"],
        )


async def test_list_of_topics_is_filtered_sorted_and_paged() -> None:
    async with Broker(HTTP) as broker, client_of(broker) as client:
        for name, count in (("apple", 3), ("Banana", 9), ("cherry", 0)):
            await make_topic(broker, name)
            await produce(broker, name, count)
        shown = await get(client, "/v1/topics?sort=-records&filter=AN")
        assert [(each["topic"], each["records"]) for each in shown["items"]] == [("Banana", 9)]
        shown = await get(client, "/v1/topics?sort=-records&limit=1&offset=1")
        assert (shown["total"], shown["matched"], [each["topic"] for each in shown["items"]]) == (3, 3, ["apple"])
        assert (await get(client, "/v1/topics?state=internal"))["matched"] == 0
        items = (await get(client, "/v1/topics?sort=-records"))["items"]
        for columns in (["records"], ["topic", "records", "is_internal"], list(items[0])):
            shown = await get(client, f"/v1/topics?sort=-records&fields={','.join(columns)}")
            assert (shown["columns"], shown["items"], shown["matched"]) == (columns, [], len(items))
            assert shown["rows"] == [[item[name] for name in columns] for item in items]
        assert (await get(client, "/v1/partitions?topic=apple"))["rows"][0][0] == "apple"


async def test_group_is_shown_with_members_offsets_lag_and_timeline() -> None:
    group = "team a/\u00fc"
    async with Broker(HTTP) as broker, client_of(broker) as client:
        await make_topic(broker, "orders")
        await produce(broker, "orders", 10)
        async with AIOKafkaConsumer(
            "orders",
            bootstrap_servers=broker.bootstrap_servers,
            group_id=group,
            client_id="reader",
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        ) as consumer:
            await consumer.getone()  # so it has its partition
            await consumer.commit({TopicPartition("orders", 0): 4})
            path = f"/v1/groups/{quote(group, safe='')}"
            shown = await get(client, path)
            assert (shown["group"]["state"], shown["group"]["members"], shown["group"]["lag"]) == ("Stable", 1, 6)
            (member,) = shown["members"]
            assert (member["client_id"], member["lag"], member["is_leader"]) == ("reader", 6, True)
            assert member["assignment"] == [{"topic": "orders", "partitions": [0]}]
            assert (len(shown["history"]["lag"]), shown["history"]["step_ms"]) == (120, 30_000)
            (offset,) = shown["offsets"]
            assert (offset["committed"], offset["end_offset"], offset["member_id"]) == (4, 10, member["member_id"])
            assert 0 <= offset["lag_seconds"] < 60
            assert (offset["verdict"], shown["group"]["verdict_text"]) == ("ok", "keeps up")
            (listed,) = (await get(client, "/v1/groups?filter=TEAM&verdict=ok"))["items"]
            assert (listed["group"], listed["lag"]) == (group, 6)
            cluster = await get(client, "/v1/cluster")
            assert (cluster["groups"], cluster["worst_group"]) == (1, group)
            assert (await get(client, "/v1/topics?filter=orders"))["items"][0]["max_lag"] == 6
            consumers = (await get(client, "/v1/topics/orders"))["consumers"]
            (consumer_row,) = consumers
            assert (consumer_row["group"], consumer_row["lag"], consumer_row["members"]) == (group, 6, 1)
            assert consumer_row["verdict"] == "ok"
            (event,) = [each for each in await events_of(client, path) if each["kind"] == "rebalance"]
            assert (event["kind"], event["reason"], event["client_id"]) == ("rebalance", "member_joined", "reader")


async def test_member_of_the_consumer_protocol_is_shown_with_its_subscription_epoch_and_partitions() -> None:
    joining = ConsumerGroupHeartbeatRequest(
        group_id="new",
        member_id="m",
        rebalance_timeout_ms=20_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    async with Broker(HTTP) as broker, client_of(broker) as client:
        await make_topic(broker, "orders", 2)
        await produce(broker, "orders", 3)
        await asyncio.to_thread(_join, broker.bootstrap_servers, joining)
        shown = await get(client, "/v1/groups/new")
        assert (shown["group"]["state"], shown["group"]["generation"], shown["group"]["protocol"]) == (
            "Stable",
            1,
            "uniform",
        )
        (member,) = shown["members"]
        assert (member["epoch"], member["subscribed_topics"], member["subscribed_pattern"]) == (1, ["orders"], None)
        assert member["assignment"] == [{"topic": "orders", "partitions": [0, 1]}]
        assert (member["session_timeout_ms"], member["rebalance_timeout_ms"]) == (45_000, 20_000)
        assert 0 <= _state_of(broker).clock_ms() - member["last_heartbeat_ms"] < 45_000
        assert not member["is_awaited"]


def _join(servers: str, joining: ConsumerGroupHeartbeatRequest) -> None:
    wait_for_coordinator(servers, joining.group_id)
    with WireClient(servers, HANGS_AFTER_S) as wire:
        assert wire.ask(joining, 1).error_code == 0


async def events_of(client: HttpClient, path: str) -> Any:
    return (await get(client, f"{path}/timeline"))["events"]


async def test_last_log_lines_are_shown_the_newest_first() -> None:
    async with Broker(HTTP) as broker, client_of(broker) as client:
        for number in range(3):
            logging.getLogger(f"pybroker.test{number}").warning("line %d", number)
        items = (await get(client, "/v1/events"))["items"]
        shown = [each["text"] for each in items if each["logger"].startswith("pybroker.test")]
        assert shown == ["line 2", "line 1", "line 0"]
        for _ in range(5):
            logging.getLogger("pybroker.test").warning("again")
        newest, *others = (await get(client, "/v1/cluster"))["events"]
        assert (newest["text"], newest["times"]) == ("again", 5)
        assert newest["since_ms"] <= newest["time_ms"]
        assert [each["text"] for each in others[:3]] == ["line 2", "line 1", "line 0"]


async def test_clients_and_times_of_requests_are_shown() -> None:
    async with Broker(HTTP) as broker, client_of(broker) as client:
        await make_topic(broker, "orders")
        await produce(broker, "orders", 3)
        shown = await get(client, f"/v1/brokers/{_state_of(broker).broker_id}")
        apis = {each["api"]: each for each in shown["local"]["apis"]}
        assert (apis["Produce"]["requests"], apis["Produce"]["errors"]) == (3, 0)
        assert 0 < apis["Produce"]["p50_ms"] <= apis["Produce"]["p99_ms"] <= apis["Produce"]["max_ms"]
        assert 0 <= shown["local"]["loop_idle"] <= 1
        assert (await get(client, "/v1/cluster"))["produce_times"]["count"] == 3
        clients = (await get(client, "/v1/clients"))["items"]
        assert any(each["client_id"].startswith("aiokafka-producer") and each["requests"] for each in clients)
        assert (await get(client, "/v1/requests/slow"))["threshold_ms"] == 1000


async def test_unknown_things_are_404_with_one_line() -> None:
    async with Broker(HTTP) as broker, client_of(broker) as client:
        for path in (
            "/v1/topics/none",
            "/v1/groups/none",
            "/v1/groups/none/timeline",
            "/v1/brokers/7",
            "/v1/brokers/x",
        ):
            response = await client.get(path)
            assert response.status == 404
            assert list(response.json()) == ["error"]


async def test_no_document_has_a_password() -> None:
    settings = {**HTTP, "ssl.key.password": CANARY, "ssl.keystore.password": CANARY}
    async with Broker(settings, users={"alice": CANARY}) as broker, client_of(broker) as client:
        for path in (*PATHS, "/v1/openapi.json"):
            response = await client.get(path.format(id=_state_of(broker).broker_id, topic="orders", group="none"))
            assert CANARY.encode() not in response.body, path
        shown = {each["name"]: each for each in (await get(client, "/v1/configs"))["settings"]}
        assert (shown["ssl.key.password"]["value"], shown["ssl.key.password"]["is_sensitive"]) == (None, True)
        assert {each["value"] for each in shown["ssl.key.password"]["synonyms"]} == {None}
        assert [name for name, each in shown.items() if name.endswith("jaas.config") and each["value"]] == []


async def test_rates_and_history_show_the_traffic_of_the_last_seconds() -> None:
    async with Broker(HTTP) as broker, client_of(broker) as client:
        await make_topic(broker, "orders")
        await produce(broker, "orders", 50)
        sampled: list[float] = []
        while not sampled:
            history = (await get(client, "/v1/history?points=3600"))["history"]
            sampled = [each for each in history["messages_in_per_s"] if each]
        assert 0 < sum(sampled) <= 50.001
        cluster = await get(client, "/v1/cluster")
        assert cluster["rates"]["messages_in_per_s"] > 0
        assert 0 < cluster["rates"]["requests_per_s"] < 1_000
        assert cluster["verdict"]["status"] in ("healthy", "warning")  # the disk of the test's machine may be full
        assert cluster["topics"] == 1


async def test_ten_thousand_topics_are_listed_in_slices() -> None:
    async with Broker(HTTP) as broker:
        state = _state_of(broker)
        answers = Answers(state)
        _know_many_topics(broker, 10_000)
        gc.disable()  # in a process of its own, a broker collects garbage in short steps
        watch = asyncio.create_task(_longest_turn_s())
        await asyncio.sleep(0)
        for path in (
            "/v1/topics?sort=-size_bytes",
            "/v1/topics?limit=5",
            "/v1/partitions",
            "/v1/cluster",
            "/v1/brokers",
        ):
            request = HttpRequest.of_target("GET", path, {})
            response = await answers.answer(request.path, request)
            if not isinstance(response.body, bytes):
                assert sum([len(piece) async for piece in response.body]) > 100_000
        watch.cancel()
        gc.enable()
        assert await watch < 0.02  # most of it is the noise of the machine: a slice is half a millisecond


def _state_of(broker: Broker) -> KnownState:
    server = broker._server
    assert server is not None
    assert server.observability._v1.state is not None
    return server.observability._v1.state


def _know_many_topics(broker: Broker, count: int) -> None:
    server = broker._server
    assert server is not None
    states = [
        UpdateMetadataTopicState(
            topic_name=f"topic-{number}",
            partition_states=[
                UpdateMetadataPartitionState(partition_index=index, leader=9, isr=[9], replicas=[9, 8])
                for index in range(3)
            ],
        )
        for number in range(count)
    ]
    server._cache.update(UpdateMetadataRequest(topic_states=states))


async def _longest_turn_s() -> float:
    """CPU time of the longest turn of the event loop, until the task is cancelled."""
    longest_s, before_s = 0.0, time.thread_time()
    try:
        while True:
            await asyncio.sleep(0)
            now_s = time.thread_time()
            longest_s, before_s = max(longest_s, now_s - before_s), now_s
    except asyncio.CancelledError:
        return longest_s
