"""Stock clients log in by each mechanism, produce and consume; Kafka's tools set and describe SCRAM users."""

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from support.clients.kafka_tools import TOOLS, run_tool
from support.security.sasl_broker import CANARY, SASL_SETTINGS, unsecured_token

OAUTH = "OAUTHBEARER"
ALICE = f"{CANARY}-alice"
PASSWORDS = {"PLAIN": ALICE, "SCRAM-SHA-256": "pass,wo=rd;", "SCRAM-SHA-512": "pass,wo=rd;"}
MECHANISMS = [*PASSWORDS, OAUTH]
_PACKAGE = "org.apache.kafka.common.security"
MODULE_OF = {
    "PLAIN": f"{_PACKAGE}.plain.PlainLoginModule required",
    "SCRAM-SHA-256": f"{_PACKAGE}.scram.ScramLoginModule required",
    "SCRAM-SHA-512": f"{_PACKAGE}.scram.ScramLoginModule required",
    OAUTH: f"{_PACKAGE}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub=",
}


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    with Broker({**SASL_SETTINGS, "connections.max.reauth.ms": 1000}) as running:
        set_scram_users(running.bootstrap_servers)
        yield running


def set_scram_users(bootstrap_servers: str) -> None:
    admin_module = pytest.importorskip("confluent_kafka.admin")
    admin = admin_module.AdminClient(librdkafka(bootstrap_servers, "PLAIN"))
    mechanisms = (admin_module.ScramMechanism.SCRAM_SHA_256, admin_module.ScramMechanism.SCRAM_SHA_512)
    for mechanism in mechanisms:
        info = admin_module.ScramCredentialInfo(mechanism, 4096)
        password = PASSWORDS["SCRAM-SHA-256"].encode()
        upsertion = admin_module.UserScramCredentialUpsertion("alice", info, password)
        admin.alter_user_scram_credentials([upsertion])["alice"].result()


def token() -> str:
    return unsecured_token("alice", int(time.time()))


def librdkafka(bootstrap_servers: str, mechanism: str) -> dict[str, object]:
    settings: dict[str, object] = {
        "bootstrap.servers": bootstrap_servers,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": mechanism,
    }
    if mechanism == OAUTH:
        return settings | {"oauth_cb": lambda _config: (token(), time.time() + 3600)}
    return settings | {"sasl.username": "alice", "sasl.password": PASSWORDS[mechanism]}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_librdkafka_logs_in_and_again_when_its_session_ends(broker: BlockingBroker, mechanism: str) -> None:
    kafka = pytest.importorskip("confluent_kafka")
    settings = librdkafka(broker.bootstrap_servers, mechanism)
    topic = f"rdkafka-{mechanism}"
    producer, errors = kafka.Producer(settings), []
    began = time.monotonic()
    while time.monotonic() - began < 2.5:  # longer than two sessions
        producer.produce(topic, b"x", on_delivery=lambda error, _message: errors.append(error))
        producer.flush()
    assert set(errors) == {None}
    consumer = kafka.Consumer(settings | {"group.id": mechanism, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    assert consumer.poll(30).value() == b"x"
    consumer.close()


@pytest.mark.parametrize("mechanism", MECHANISMS)
async def test_aiokafka_logs_in(broker: BlockingBroker, mechanism: str) -> None:
    aiokafka = pytest.importorskip("aiokafka")
    abc = pytest.importorskip("aiokafka.abc")

    class Provider(abc.AbstractTokenProvider):  # type: ignore[misc, name-defined]
        async def token(self) -> str:
            return token()

    common = {"bootstrap_servers": broker.bootstrap_servers, "security_protocol": "SASL_PLAINTEXT"}
    common |= {"sasl_mechanism": mechanism}
    if mechanism == OAUTH:
        common |= {"sasl_oauth_token_provider": Provider()}
    else:
        common |= {"sasl_plain_username": "alice", "sasl_plain_password": PASSWORDS[mechanism]}
    async with aiokafka.AIOKafkaProducer(**common) as producer:
        await producer.send_and_wait(f"aio-{mechanism}", b"x")
    consumer = aiokafka.AIOKafkaConsumer(f"aio-{mechanism}", auto_offset_reset="earliest", group_id="a", **common)
    async with consumer:
        assert (await asyncio.wait_for(consumer.getone(), 30)).value == b"x"


@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_kafka_python_logs_in(broker: BlockingBroker, mechanism: str) -> None:
    kafka = pytest.importorskip("kafka")
    common = {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "alice",
        "sasl_plain_password": PASSWORDS[mechanism],
    }
    producer = kafka.KafkaProducer(**common)
    producer.send(f"python-{mechanism}", b"x").get(30)
    producer.close()
    consumer = kafka.KafkaConsumer(f"python-{mechanism}", auto_offset_reset="earliest", group_id="p", **common)
    assert next(consumer).value == b"x"
    consumer.close()


@pytest.fixture
def java_settings(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A file of settings for Kafka's tools, for the mechanism in the test's parameters."""
    mechanism = request.getfixturevalue("mechanism")
    module = MODULE_OF[mechanism]
    module += '"alice"' if mechanism == OAUTH else f' username="alice" password="{PASSWORDS[mechanism]}"'
    file = tmp_path / "client.properties"
    file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\nsasl.jaas.config={module};\n")
    return str(file)


@pytest.mark.parametrize(
    "mechanism", [pytest.param(each, marks=() if each == OAUTH else pytest.mark.long) for each in MECHANISMS]
)
def test_kafkas_console_tools_log_in(broker: BlockingBroker, mechanism: str, java_settings: str) -> None:
    servers, topic = ("--bootstrap-server", broker.bootstrap_servers), ("--topic", f"java-{mechanism}")
    run_tool("kafka.tools.ConsoleProducer", *servers, *topic, "--producer.config", java_settings, stdin="x\n")
    consumed = run_tool(
        f"{TOOLS}.consumer.ConsoleConsumer",
        *servers,
        *topic,
        *("--consumer.config", java_settings, "--from-beginning", "--max-messages", "1"),
    )
    assert consumed.splitlines()[0] == "x"


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-512"])
def test_kafka_configs_sets_describes_and_deletes_scram_users(
    broker: BlockingBroker, mechanism: str, java_settings: str
) -> None:
    def configs(*arguments: str) -> str:
        return run_tool(
            "kafka.admin.ConfigCommand",
            *("--bootstrap-server", broker.bootstrap_servers, "--command-config", java_settings),
            *("--entity-type", "users", "--entity-name", "dörte b"),
            *arguments,
        )

    configs("--alter", "--add-config", "SCRAM-SHA-256=[iterations=8192,password=secret]")
    assert "SCRAM-SHA-256=iterations=8192" in configs("--describe")
    configs("--alter", "--delete-config", "SCRAM-SHA-256")
    assert "iterations" not in configs("--describe")
