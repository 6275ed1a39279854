"""The pipeline's client logs in to a pybroker, with and without TLS, by the options that it has for Kafka."""

import pytest
from pybroker import Broker
from pybroker.client.cluster import Cluster
from pybroker.pipeline.options.kafka_settings import reader_settings
from pybroker.protocol.errors import KafkaError

PACKAGE = "org.apache.kafka.common.security"
MODULES = {
    "PLAIN": f"{PACKAGE}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{PACKAGE}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{PACKAGE}.scram.ScramLoginModule",
}
USERS = {"alice": 'a, "b" = c; ½'}


def options(bootstrap_servers: str, protocol: str, mechanism: str, password: str) -> dict[str, str]:
    quoted = password.replace('"', '\\"')
    return {
        "bootstrap.servers": bootstrap_servers,
        "security.protocol": protocol,
        "sasl.mechanism": mechanism,
        "sasl.jaas.config": f'{MODULES[mechanism]} required username="alice" password="{quoted}";',
    }


@pytest.mark.parametrize("mechanism", MODULES)
def test_client_logs_in_to_a_broker_without_tls(mechanism: str) -> None:
    with Broker({"auto.create.topics.enable": "false"}, users=USERS) as broker:
        given = options(broker.bootstrap_servers, "SASL_PLAINTEXT", mechanism, USERS["alice"])
        with Cluster(reader_settings(given)) as cluster:
            assert list(cluster.topic_names()) == []
        wrong = options(broker.bootstrap_servers, "SASL_PLAINTEXT", mechanism, "guessed")
        with Cluster(reader_settings(wrong), retry_ms=10**9) as cluster, pytest.raises(KafkaError):
            cluster.topic_names()


def test_client_logs_in_to_a_broker_with_tls() -> None:
    pytest.importorskip("cryptography")
    broker = Broker(users=USERS, tls=True)
    with broker as running:
        trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(broker.ca_file)}
        given = options(running.bootstrap_servers, "SASL_SSL", "SCRAM-SHA-512", USERS["alice"])
        with Cluster(reader_settings(given | trust)) as cluster:
            assert list(cluster.topic_names()) == []
