"""Clients log in by tokens of an identity provider, and share a token while it is fresh."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.client.cluster import Cluster
from pybroker.pipeline.options.kafka_settings import reader_settings
from pybroker.pipeline.options.librdkafka_settings import librdkafka_security
from pybroker.protocol.errors import KafkaError
from support.security.http_server import send
from support.security.token_provider import MODULE, TokenProvider, token_provider

SECRET = "canary-s3cret"


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[TokenProvider]:
    with token_provider(tmp_path, SECRET) as provider:
        yield provider


@pytest.fixture
def broker(provider: TokenProvider) -> Iterator[BlockingBroker]:
    with Broker({"listeners": "SASL_PLAINTEXT://127.0.0.1:0", **provider.settings()}) as broker:
        yield broker


def login(broker: BlockingBroker, provider: TokenProvider, secret: str = SECRET) -> dict[str, str]:
    return {
        "bootstrap.servers": broker.bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f'{MODULE} clientId="broker" clientSecret="{secret}";',
        "sasl.oauthbearer.token.endpoint.url": provider.server.url,
    }


def test_connections_share_a_token_until_most_of_its_lifetime_is_over(
    broker: BlockingBroker, provider: TokenProvider
) -> None:
    provider.lifetime_s = 3600
    asked = len(provider.server.received)
    for _ in range(3):
        with Cluster(reader_settings(login(broker, provider))) as cluster:
            assert cluster.partitions(["none"]) == []
    assert len(provider.server.received) == asked + 1
    tokens = reader_settings(login(broker, provider)).security.sasl
    assert not isinstance(tokens, type(None))
    assert SECRET not in repr(tokens)


def test_reader_names_the_provider_that_refuses_its_secret(broker: BlockingBroker, provider: TokenProvider) -> None:
    settings = reader_settings(login(broker, provider, "wrong"))
    with pytest.raises(KafkaError, match=r"status 401 \(invalid_client\)") as raised:
        Cluster(settings, retry_ms=0).partitions(["none"])
    assert "wrong" not in str(raised.value)


def test_provider_that_fails_for_a_moment_is_asked_again(broker: BlockingBroker, provider: TokenProvider) -> None:
    answers = [lambda request: send(request, b"{}", 503), provider.answer]
    provider.server.answer = lambda request: answers.pop(0)(request)
    with Cluster(reader_settings(login(broker, provider))) as cluster:
        assert cluster.partitions(["none"]) == []
    assert not answers


def test_writer_logs_in_by_the_same_options(broker: BlockingBroker, provider: TokenProvider) -> None:
    failed: list[object] = []
    producer = Producer(librdkafka_security(login(broker, provider)))
    producer.produce("by-token", b"value", on_delivery=lambda error, _: failed.append(error))
    producer.flush(60)
    assert failed == [None]
