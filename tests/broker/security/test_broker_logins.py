"""Logins at a whole broker: who gets in, as whom, for how long, and what strangers see."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.security.sasl.scram_user_store import ScramUserStore, new_credentials
from pybroker.broker.server import BrokerServer
from pybroker.config.config import METADATA_STORE_FILE
from pybroker.config.load import load_config
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.protocol.client import SaslLogin
from pybroker.protocol.errors import ErrorCode, KafkaError
from pybroker.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from pybroker.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.metadata import MetadataRequest
from pybroker.protocol.scram import SCRAM_MECHANISMS
from support.clients.async_wire_client import AsyncWireClient
from support.security.sasl_broker import CANARY, SASL_SETTINGS, log_in, login_of, unsecured_token

ALICE = ("PLAIN", "alice", f"{CANARY}-alice")
SCRAM = tuple(SCRAM_MECHANISMS)
CLOSED = (ConnectionError, asyncio.IncompleteReadError)
NEW_TOPIC = CreateTopicsRequest(
    topics=[CreatableTopic(name="t", num_partitions=1, replication_factor=1)], timeout_ms=10_000
)


@asynccontextmanager
async def sasl_broker(max_reauth_ms: int = 0) -> AsyncIterator[Broker]:
    async with Broker({**SASL_SETTINGS, "connections.max.reauth.ms": max_reauth_ms}) as broker:
        yield broker


@asynccontextmanager
async def connected(broker: Broker, login: SaslLogin | None = None) -> AsyncIterator[AsyncWireClient]:
    client = await AsyncWireClient.connect(broker.bootstrap_servers)
    try:
        if login is not None:
            await log_in(client, login)
        yield client
    finally:
        client.close()


async def set_password(client: AsyncWireClient, user: str, password: str) -> None:
    upsertions = [
        ScramCredentialUpsertion(
            name=user,
            mechanism=mechanism.code,
            iterations=4096,
            salt=b"salt",
            salted_password=mechanism.salted_password(password, b"salt", 4096),
        )
        for mechanism in SCRAM_MECHANISMS.values()
    ]
    response = await client.ask(AlterUserScramCredentialsRequest(upsertions=upsertions), 0)
    assert [each.error_code for each in response.results] == [0]


async def refusal_of(client: AsyncWireClient, login: SaslLogin) -> KafkaError:
    """The error that refuses a login; the broker then closes the connection."""
    with pytest.raises(KafkaError) as raised:
        await log_in(client, login)
    assert raised.value.code == ErrorCode.SASL_AUTHENTICATION_FAILED
    await client.ended()
    return raised.value


async def requests_for_ever(client: AsyncWireClient) -> None:
    while True:
        await client.ask(MetadataRequest(topics=[]), 4)


async def principal_of(client: AsyncWireClient) -> tuple[str, str]:
    """The principal that handlers see, by a response that contains it."""
    response = await client.ask(CreateDelegationTokenRequest(), 3)
    return response.token_requester_principal_type, response.token_requester_principal_name


async def test_each_mechanism_makes_the_client_the_user_that_it_proved_to_be() -> None:
    async with sasl_broker() as broker:
        async with connected(broker, login_of(*ALICE)) as client:
            assert await principal_of(client) == ("User", "alice")
            await set_password(client, "b=o,b", "pass,word=;")
        for mechanism in SCRAM:
            async with connected(broker, login_of(mechanism, "b=o,b", "pass,word=;")) as client:
                assert await principal_of(client) == ("User", "b=o,b")
        token = unsecured_token("carol", int(time.time()))
        async with connected(broker, login_of("OAUTHBEARER", "", token)) as client:
            assert await principal_of(client) == ("User", "carol")


async def test_stored_users_log_in_at_a_broker_that_starts_when_their_notifications_are_deleted(tmp_path: Path) -> None:
    store = await EmbeddedStore.open(tmp_path / METADATA_STORE_FILE, lambda: 0)
    await ScramUserStore(ClusterTree(store)).set_user("ann", new_credentials("secret"))
    for name in await store.children("/config/changes"):
        await store.delete(f"/config/changes/{name}")
    await store.close()
    async with Broker({**SASL_SETTINGS, "log.dirs": str(tmp_path)}) as broker:
        for mechanism in SCRAM:
            async with connected(broker, login_of(mechanism, "ann", "secret")) as client:
                assert await principal_of(client) == ("User", "ann")


@pytest.mark.parametrize("mechanism", ["PLAIN", *SCRAM])
async def test_a_wrong_password_and_an_unknown_user_get_the_same_answer_and_a_log_line_each(
    mechanism: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with sasl_broker() as broker:
        async with connected(broker, login_of(*ALICE)) as client:
            await set_password(client, "alice", "right")
        texts = []
        for user in ("alice", "nobody"):
            async with connected(broker) as client:
                error = await refusal_of(client, login_of(mechanism, user, "wrong"))
                texts.append(error.message)
        assert texts[0] == texts[1]
    lines = [line for line in caplog.messages if line.startswith("A login of ")]
    assert [line.rpartition(" ")[2] for line in lines] == ["'alice'", "'nobody'"]


async def test_users_in_the_options_of_scram_are_ignored_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    """As in Kafka, where files with such options keep their listener closed."""
    settings = {
        name: text.replace("ScramLoginModule required", f'ScramLoginModule required user_alice="{CANARY}-alice"')
        for name, text in SASL_SETTINGS.items()
    }
    async with Broker(settings) as broker:
        for mechanism in SCRAM:
            async with connected(broker) as client:
                await refusal_of(client, login_of(mechanism, *ALICE[1:]))
    (line,) = [record.getMessage() for record in caplog.records if "user_" in record.getMessage()]
    assert line.startswith("listener SASL_PLAINTEXT: the options user_… of ScramLoginModule are ignored")
    assert CANARY not in caplog.text


async def test_a_changed_jaas_file_needs_a_restart(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    jaas, file = tmp_path / "jaas.conf", tmp_path / "server.properties"
    entry = 'KafkaServer {{ org.apache.kafka.common.security.plain.PlainLoginModule required user_{}="p"; }};'
    jaas.write_text(entry.format("alice"))
    settings = {
        "listeners": SASL_SETTINGS["listeners"],
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN",
        "pybroker.sasl.plain.without.tls": "true",
        "pybroker.sasl.jaas.file": str(jaas),
        "log.dirs": str(tmp_path / "data"),
    }
    file.write_text("\n".join(f"{name}={text}" for name, text in settings.items()))
    line = f"{jaas} has changed; this needs a restart"
    broker = BrokerServer(load_config(file))
    await broker.start()
    try:
        await broker._settings.reload()
        assert line not in caplog.text
        jaas.write_text(entry.format("bob"))
        await broker._settings.reload()
        assert line in caplog.text
    finally:
        await broker.stop()


async def test_a_request_before_the_login_closes_the_connection() -> None:
    async with sasl_broker() as broker:
        async with connected(broker) as client:
            with pytest.raises(CLOSED):
                await client.ask(MetadataRequest(topics=[]), 4)
        async with connected(broker) as client:
            with pytest.raises(CLOSED):
                await log_in(client, login_of(*ALICE), lambda: client.send(MetadataRequest(topics=[]), 4))


async def test_users_are_known_after_a_restart_and_deleted_ones_are_not() -> None:
    async with sasl_broker() as broker:
        async with connected(broker, login_of(*ALICE)) as client:
            await set_password(client, "kept", "one")
            await set_password(client, "gone", "two")
        await broker.restart()
        async with connected(broker, login_of(SCRAM[0], "kept", "one")) as client:
            deletions = [ScramCredentialDeletion(name="gone", mechanism=code) for code in (1, 2)]
            response = await client.ask(AlterUserScramCredentialsRequest(deletions=deletions[:1]), 0)
            assert [each.error_code for each in response.results] == [0]
        async with connected(broker, login_of(SCRAM[1], "gone", "two")):
            pass
        async with connected(broker) as client:
            await refusal_of(client, login_of(SCRAM[0], "gone", "two"))


async def test_a_session_that_has_ended_takes_another_login_and_nothing_else() -> None:
    async with sasl_broker(1) as broker:
        async with connected(broker) as client:
            assert [await log_in(client, login_of(*ALICE)) for _ in range(2)] == [1, 1]
        async with connected(broker, login_of(*ALICE)) as client:
            with pytest.raises(CLOSED):
                await requests_for_ever(client)


async def test_another_login_must_not_change_the_user() -> None:
    async with sasl_broker(3_600_000) as broker, connected(broker, login_of(*ALICE)) as client:
        error = await refusal_of(client, login_of("PLAIN", "broker", f"{CANARY}-own"))
        assert "Cannot change principals" in str(error.message)


def parked_fetch(max_wait_ms: int) -> FetchRequest:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
    return FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=1000, topics=[FetchTopic(topic="t", partitions=[partition])]
    )


async def test_a_fetch_that_waits_is_answered_after_the_end_of_its_session_and_the_next_request_is_not() -> None:
    """Kafka decides when a request arrives."""
    async with sasl_broker() as broker, connected(broker, login_of(*ALICE)) as admin:
        await admin.ask(NEW_TOPIC, 2)
        expires_soon = unsecured_token("alice", int(time.time()) - 1, 2)
        async with connected(broker) as client:
            assert 0 < await log_in(client, login_of("OAUTHBEARER", "", expires_soon)) <= 1000
            response = await client.ask(parked_fetch(1100), 4)
            assert response.responses[0].partitions[0].error_code == 0
            with pytest.raises(CLOSED):
                await client.ask(MetadataRequest(topics=[]), 4)


async def test_another_login_among_requests_under_way_is_answered_in_order() -> None:
    async with sasl_broker(3_600_000) as broker, connected(broker, login_of(*ALICE)) as client:
        await client.ask(NEW_TOPIC, 2)
        client.send(parked_fetch(200), 4)
        client.send(MetadataRequest(topics=[]), 4)
        assert await log_in(client, login_of(*ALICE)) > 0
        fetched, described = client.earlier
        assert fetched.responses[0].partitions[0].error_code == 0
        assert len(described.brokers) == 1
        assert await principal_of(client) == ("User", "alice")
