"""The samples of topics, requests and connections equal what stock clients did."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]
from prometheus_client.parser import text_string_to_metric_families
from pybroker.broker.requests.busiest_clients import busiest_clients
from pybroker.broker.server import BrokerServer
from pybroker.config.load import load_config

RECORDS = 10
TRAFFIC = "kafka_server_brokertopicmetrics"
REQUESTS = "kafka_network_requestmetrics"


def settings(directory: Path, http: str) -> dict[str, str]:
    return {"log.dirs": str(directory), "listeners": "PLAINTEXT://127.0.0.1:0", "pybroker.http.listeners": http}


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[BrokerServer]:
    started = BrokerServer(load_config("", settings(tmp_path, "HTTP://127.0.0.1:0")))
    await started.start()
    yield started
    await started.stop()
    await started.settle()


def bootstrap(server: BrokerServer) -> str:
    return f"127.0.0.1:{server.endpoints[0].port}"


def make_topic(servers: str) -> None:
    admin = AdminClient({"bootstrap.servers": servers})
    for future in admin.create_topics([NewTopic("orders", 1, 1)]).values():
        future.result()


def produce(servers: str) -> None:
    """Each record in a request of its own."""
    producer = Producer({"bootstrap.servers": servers, "client.id": "writer", "enable.idempotence": False})
    for number in range(RECORDS):
        producer.produce("orders", f"value {number}", partition=0)
        assert producer.flush(30) == 0


def consume(servers: str) -> None:
    options = {"bootstrap.servers": servers, "group.id": "readers", "enable.auto.commit": False}
    consumer = Consumer(options)
    consumer.assign([TopicPartition("orders", 0, 0)])
    assert len(consumer.consume(RECORDS, timeout=30)) == RECORDS
    consumer.close()


class Scrape:
    """The samples of a broker, by name and labels."""

    def __init__(self, text: str) -> None:
        self._values = {
            (sample.name, frozenset(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples
        }

    def __call__(self, name: str, **labels: str) -> float:
        return self._values[name, frozenset(labels.items())]

    def sum(self, name: str, **labels: str) -> float:
        """The sum of all samples that have these labels."""
        return sum(value for (each, has), value in self._values.items() if each == name and labels.items() <= has)


async def scraped(server: BrokerServer) -> Scrape:
    _, pieces = server.observability.metrics.scrape("text/plain")
    return Scrape(b"".join([piece async for piece in pieces]).decode())


async def test_counters_equal_what_a_producer_and_a_consumer_did(server: BrokerServer) -> None:
    servers = bootstrap(server)
    await asyncio.to_thread(make_topic, servers)
    await asyncio.to_thread(produce, servers)
    await asyncio.to_thread(consume, servers)
    scrape = await scraped(server)
    for name, count in {"messagesin": RECORDS, "totalproducerequests": RECORDS, "failedproducerequests": 0}.items():
        assert scrape(f"{TRAFFIC}_{name}_total") == count, name
        assert scrape(f"{TRAFFIC}_{name}_total", topic="orders") == count, name
    assert scrape(f"{TRAFFIC}_bytesin_total") == scrape(f"{TRAFFIC}_bytesout_total", topic="orders") > 0
    assert scrape(f"{TRAFFIC}_totalfetchrequests_total", topic="orders") >= 1
    assert scrape(f"{TRAFFIC}_replicationbytesout_total") == 0

    assert scrape.sum(f"{REQUESTS}_requests_total", request="Produce") == RECORDS
    assert scrape(f"{REQUESTS}_errors_total", request="Produce", error="NONE") == RECORDS
    assert scrape(f"{REQUESTS}_totaltimems_count", request="Produce") == RECORDS
    assert scrape("pybroker_request_duration_seconds_bucket", request="Produce", le="+Inf") == RECORDS
    fetches = scrape.sum(f"{REQUESTS}_requests_total", request="Fetch")
    assert scrape.sum(f"{REQUESTS}_requests_total", request="FetchConsumer") == fetches >= 1
    phases = ("requestqueue", "local", "remote", "responsequeue", "responsesend")
    total_ms = scrape(f"{REQUESTS}_totaltimems_sum", request="Produce")
    assert sum(scrape(f"{REQUESTS}_{each}timems_sum", request="Produce") for each in phases) == pytest.approx(total_ms)
    assert 0 < scrape(f"{REQUESTS}_totaltimems", request="Produce", quantile="0.50") <= total_ms

    accepted = scrape("kafka_server_socket_server_metrics_connection_creation_total", listener="PLAINTEXT",
                      networkProcessor="0")  # fmt: skip
    assert accepted >= 3
    assert 0 <= scrape("kafka_network_socketserver_networkprocessoravgidle_percent") <= 1


async def test_busiest_clients_are_those_that_sent_and_got_most(server: BrokerServer) -> None:
    servers = bootstrap(server)
    await asyncio.to_thread(make_topic, servers)
    await asyncio.to_thread(produce, servers)
    assert server._listeners is not None
    clients = {client.client_id: client for client in await busiest_clients(server._listeners)}
    writer = clients["writer"]
    assert writer.software is not None
    assert writer.software.startswith("confluent-kafka")
    assert writer.requests >= RECORDS
    assert writer.bytes_in > 0 < writer.bytes_out
    assert (writer.principal, writer.host) == ("User:ANONYMOUS", "127.0.0.1")


async def test_without_http_no_times_are_taken_and_nothing_watches_the_loop(tmp_path: Path) -> None:
    server = BrokerServer(load_config("", settings(tmp_path, "")))
    await server.start()
    try:
        assert server.observability.requests is None
        assert server._listeners is not None
        assert server._listeners._resources.timer is None
        servers = bootstrap(server)
        await asyncio.to_thread(make_topic, servers)
        await asyncio.to_thread(produce, servers)
        assert server._partitions.traffic.topics["orders"].messages_in == RECORDS, "counters are always there"
    finally:
        await server.stop()
        await server.settle()
