"""Brokers of a cluster log in to each other by signed tokens, while their provider answers, fails or hangs."""

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from support.in_process.broker_cluster import BrokerCluster, until
from support.in_process.tls_ends import STORES
from support.security.http_server import send
from support.security.token_provider import TokenProvider, token_provider

SECRET = "canary-0f1e2d"
PARTITION = TopicPartition("t", 0)
TLS = {
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": str(STORES / "server.pem"),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": str(STORES / "authority.pem"),
}


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[TokenProvider]:
    with token_provider(tmp_path, SECRET) as running:
        yield running


@asynccontextmanager
async def cluster_of(
    directory: Path, provider: TokenProvider, listener: str = "sasl_plaintext", **changes: str
) -> AsyncIterator[BrokerCluster]:
    """Two brokers, with a listener without login for the test."""
    settings = {**provider.settings(listener), **{name.replace("_", "."): value for name, value in changes.items()}}
    cluster = BrokerCluster(directory, settings)
    try:
        listeners = f"PLAINTEXT://127.0.0.1:0,{listener.upper()}://127.0.0.1:0"
        await cluster.start(1, 2, listeners=listeners)
        yield cluster
    finally:
        await cluster.close()


async def replicate(cluster: BrokerCluster) -> None:
    """Append a record that both brokers must have. The ISR shrinks when the machine is slow."""
    error = ErrorCode.NOT_ENOUGH_REPLICAS
    while error is ErrorCode.NOT_ENOUGH_REPLICAS:
        error, _ = await cluster.produce(1, PARTITION, b"x")
    assert error is ErrorCode.NONE


@pytest.mark.parametrize("listener", ["sasl_plaintext", "sasl_ssl"])
async def test_brokers_replicate_and_each_asks_once_for_the_token_of_all_its_links(
    listener: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    is_encrypted = listener == "sasl_ssl"
    with token_provider(tmp_path, SECRET, store=STORES / "server.pem" if is_encrypted else None) as provider:
        settings = provider.settings(listener)
        if is_encrypted:
            jaas = f"listener.name.{listener}.oauthbearer.sasl.jaas.config"
            trust = " ".join(f'{name}="{value}"' for name, value in TLS.items() if "trust" in name)
            settings |= {**TLS, jaas: settings[jaas].replace(";", f" {trust};")}
        cluster = BrokerCluster(tmp_path, settings)
        await cluster.start(1, 2, listeners=f"PLAINTEXT://127.0.0.1:0,{listener.upper()}://127.0.0.1:0")
        await cluster.create_topic("t", [1, 2], min_insync_replicas="2")
        await replicate(cluster)
        await cluster.close()
        assert len(provider.server.received) == 2
        assert provider.server.received[0].body == b"grant_type=client_credentials&scope=x"
        payload = provider.token("broker").split(".")[1][:20]
    assert [each for each in (SECRET, payload) if each in caplog.text] == []


async def test_brokers_replicate_past_the_ends_of_many_tokens(tmp_path: Path, provider: TokenProvider) -> None:
    provider.lifetime_s = 3
    async with cluster_of(tmp_path, provider) as cluster:
        await cluster.create_topic("t", [1, 2], min_insync_replicas="2")
        while len(provider.server.received) < 8:
            await replicate(cluster)


async def test_brokers_start_while_the_provider_is_away_and_work_when_it_is_back(
    tmp_path: Path, provider: TokenProvider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.server.answer = lambda request: send(request, b"", 503)
    async with cluster_of(tmp_path, provider) as cluster:
        await until(lambda: len(provider.server.received) > 6, "the brokers try again")
        assert f"before it gets a token, and tries again: {provider.server.url}: the server answered" in caplog.text
        provider.server.answer = provider.answer
        await cluster.create_topic("t", [1, 2], min_insync_replicas="2")
        await replicate(cluster)


async def test_provider_that_hangs_ends_the_links_alone_and_they_come_back(
    tmp_path: Path, provider: TokenProvider, caplog: pytest.LogCaptureFixture
) -> None:
    provider.lifetime_s = 3
    async with cluster_of(tmp_path, provider, sasl_login_read_timeout_ms="300") as cluster:
        await cluster.create_topic("t", [1, 2], min_insync_replicas="2")
        await replicate(cluster)
        provider.server.answer = provider.server.hang
        while "cannot log in to other brokers before it gets a token" not in caplog.text:
            for broker_id in (1, 2):
                assert (await cluster.metadata_of(broker_id, PARTITION)).error_code == ErrorCode.NONE
        provider.server.answer = provider.answer
        await replicate(cluster)
    assert SECRET not in caplog.text
