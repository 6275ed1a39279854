"""Clients that log in wrongly, endlessly or with huge tokens harm neither the broker nor other clients."""

import asyncio
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from pybroker import Broker
from pybroker.protocol.errors import KafkaError
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest
from support.clients.async_wire_client import AsyncWireClient
from support.security.sasl_broker import CANARY, SASL_SETTINGS, log_in, login_of

ALICE = ("PLAIN", "alice", f"{CANARY}-alice")
MOST_BYTES = 524_288


@asynccontextmanager
async def sasl_broker(**changes: int) -> AsyncIterator[tuple[Broker, AsyncWireClient]]:
    """With a client that has logged in."""
    async with Broker({**SASL_SETTINGS, **{name.replace("_", "."): each for name, each in changes.items()}}) as broker:
        client = await AsyncWireClient.connect(broker.bootstrap_servers)
        await log_in(client, login_of(*ALICE))
        yield broker, client
        client.close()


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
async def test_a_storm_of_wrong_logins_does_not_stop_other_clients(mechanism: str) -> None:
    async with sasl_broker(connection_failed_authentication_delay_ms=1500) as (broker, client):

        async def fail() -> None:
            stranger = await AsyncWireClient.connect(broker.bootstrap_servers)
            with pytest.raises(KafkaError):
                await log_in(stranger, login_of(mechanism, "alice", "wrong"))
            await stranger.ended()
            stranger.close()

        storm = asyncio.gather(*(fail() for _ in range(200)))
        answered = 0
        while not storm.done():
            await client.ask(MetadataRequest(topics=[]), 4)
            answered += 1
        await storm
        assert answered > 40, "a stop at each wrong login lets 7 through"


@pytest.mark.parametrize("size", [MOST_BYTES + 1, 2**31 - 1, -1])
async def test_a_frame_over_the_limit_for_logins_closes_the_connection_before_it_arrives(size: int) -> None:
    async with sasl_broker() as (broker, client):
        reader, writer = await asyncio.open_connection(*broker.bootstrap_servers.split(":"))
        writer.write(struct.pack(">i", size))
        assert await reader.read() == b""
        writer.close()
        await client.ask(MetadataRequest(topics=[]), 4)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"])
async def test_a_token_as_long_as_allowed_is_refused_as_any_other(mechanism: str) -> None:
    async with sasl_broker() as (broker, client):
        stranger = await AsyncWireClient.connect(broker.bootstrap_servers)
        await stranger.ask(SaslHandshakeRequest(mechanism=mechanism), 1)
        token = b"n,\x01auth=Bearer " + b"a" * (MOST_BYTES - 100)
        response = await stranger.ask(SaslAuthenticateRequest(auth_bytes=token), 1)
        assert response.error_code
        await stranger.ended()
        stranger.close()
        await client.ask(MetadataRequest(topics=[]), 4)


async def test_after_its_login_a_client_may_send_longer_requests() -> None:
    async with sasl_broker() as (_broker, client):
        topics = [MetadataRequestTopic(name="x" * 200) for _ in range(4000)]
        response = await client.ask(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 4)
        assert response.brokers


async def test_a_connection_whose_failure_is_delayed_counts_for_the_limits_of_connections() -> None:
    """KIP-306: a client that tries passwords gets no second connection by leaving the first one in its delay."""
    changes = {"connection_failed_authentication_delay_ms": 500_000, "max_connections_per_ip": 2}
    async with sasl_broker(**changes) as (broker, client):
        stranger = await AsyncWireClient.connect(broker.bootstrap_servers)
        await stranger.ask(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        stranger.send(SaslAuthenticateRequest(auth_bytes=b"\0alice\0wrong"), 1)
        await client.ask(MetadataRequest(topics=[]), 4)
        reader, writer = await asyncio.open_connection(*broker.bootstrap_servers.split(":"))
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        stranger.close()
