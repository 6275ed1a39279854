"""Sessions of clients that have logged in end by the timers of a clock that a test moves."""

import asyncio

import pytest
from pybroker import Broker
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.async_wire_client import AsyncWireClient
from support.security.sasl_broker import CANARY, SASL_SETTINGS, log_in, login_of, unsecured_token

CLOSED = (ConnectionError, asyncio.IncompleteReadError)
MAX_REAUTH_MS = 3_600_000
TOKEN_S = 1_800


@pytest.mark.parametrize(
    ("mechanism", "lifetime_s"), [("PLAIN", MAX_REAUTH_MS // 1000), ("OAUTHBEARER", TOKEN_S)], ids=["PLAIN", "token"]
)
async def test_session_ends_at_its_time_unless_the_client_logs_in_again(mechanism: str, lifetime_s: int) -> None:
    settings = {"connections.max.reauth.ms": MAX_REAUTH_MS, "connections.max.idle.ms": 10 * MAX_REAUTH_MS}
    async with Broker({**SASL_SETTINGS, **settings}) as broker:

        async def log_in_now(client: AsyncWireClient) -> int:
            now_s = broker.clock.clock_ms() // 1000
            secret = unsecured_token("alice", now_s, TOKEN_S) if mechanism == "OAUTHBEARER" else f"{CANARY}-alice"
            return await log_in(client, login_of(mechanism, "alice", secret)) // 1000

        left, stays = [await AsyncWireClient.connect(broker.bootstrap_servers) for _ in range(2)]
        for client in (left, stays):
            assert lifetime_s - 60 < await log_in_now(client) <= lifetime_s
        await broker.clock.advance_timers(seconds=lifetime_s / 2)
        await log_in_now(stays)
        assert (await left.ask(MetadataRequest(topics=[]), 9)).throttle_time_ms == 0
        await broker.clock.advance_timers(seconds=lifetime_s / 2 + 1)
        with pytest.raises(CLOSED):
            await left.ask(MetadataRequest(topics=[]), 9)
        assert (await stays.ask(MetadataRequest(topics=[]), 9)).throttle_time_ms == 0
        left.close()
        stays.close()
