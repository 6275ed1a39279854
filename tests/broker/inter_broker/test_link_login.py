"""Links to other brokers log in by SASL before their first request, and again before the session ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from pybroker import Broker
from pybroker.broker.environment import wall_clock_ms
from pybroker.broker.inter_broker.broker_link import Ask, BrokerLink, LinkSecurity
from pybroker.broker.inter_broker.link_factory import LinkFactory
from pybroker.broker.metadata.address import Address
from pybroker.broker.own_logins import OwnLogins
from pybroker.broker.protection import Protection
from pybroker.config.config_error import ConfigError
from pybroker.config.listener_security import ListenerSecurity
from pybroker.config.load import load_config
from pybroker.config.sasl_mechanisms import SECURED_LOGIN, UNSECURED_LOGIN
from pybroker.protocol.codec import Message
from pybroker.protocol.messages.create_delegation_token import CreateDelegationTokenRequest
from pybroker.protocol.messages.metadata import MetadataRequest
from pybroker.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from pybroker.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from support.security.http_server import http_server, send
from support.security.sasl_broker import CANARY, LISTENER, SASL_SETTINGS

LONG_MS = 3_600_000
OF_BROKERS = {"sasl.mechanism.inter.broker.protocol": "PLAIN"}


def security_of_link(**changes: str) -> LinkSecurity:
    config = load_config("", {**SASL_SETTINGS, **OF_BROKERS, **changes})
    own_logins = OwnLogins(config, wall_clock_ms, lambda: 0.5)
    return Protection(config, own_logins=own_logins).of_link(ListenerSecurity.of(config, "SASL_PLAINTEXT"))


def link_to(broker: Broker, security: LinkSecurity) -> BrokerLink:
    links = LinkFactory(asyncio.get_running_loop(), lambda _listener: security)
    config = load_config("", SASL_SETTINGS)
    return links.link_to(lambda: Address.parse(broker.bootstrap_servers), "SASL_PLAINTEXT", "1", config)


@asynccontextmanager
async def linked(security: LinkSecurity, max_reauth_ms: int = 0) -> AsyncIterator[BrokerLink]:
    async with Broker({**SASL_SETTINGS, "connections.max.reauth.ms": max_reauth_ms}) as broker:
        link = link_to(broker, security)
        try:
            yield link
        finally:
            await link.close()


async def requests_for_ever(link: BrokerLink) -> None:
    while True:
        await link.ask(MetadataRequest(topics=[]), 4, LONG_MS)


async def test_a_link_logs_in_as_the_user_of_the_brokers() -> None:
    async with linked(security_of_link()) as link:
        response = await link.ask(CreateDelegationTokenRequest(), 3, LONG_MS)
        assert response.token_requester_principal_name == "broker"


async def test_another_broker_cannot_keep_the_event_loop_busy_by_many_iterations() -> None:
    jaas = f"{LISTENER}.scram-sha-256.sasl.jaas.config"
    own = SASL_SETTINGS[jaas].replace("required", 'required username="broker" password="p"')
    security = security_of_link(**{"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256", jaas: own})

    async def hostile(request: Message, version: int) -> Message:
        if isinstance(request, SaslHandshakeRequest):
            return SaslHandshakeResponse()
        assert isinstance(request, SaslAuthenticateRequest)
        nonce = bytes(request.auth_bytes).split(b",r=")[1]
        return SaslAuthenticateResponse(auth_bytes=b"r=" + nonce + b"x,s=c2FsdA==,i=16385")

    assert security.log_in is not None
    with pytest.raises(ConnectionError, match="the broker asks for 16385 iterations, not 4096 to 16384"):
        await security.log_in(hostile)


def oauth_link(handler: str, **changes: str) -> LinkSecurity:
    jaas = f"{LISTENER}.oauthbearer.sasl.jaas.config"
    options = f'clientId="a" clientSecret="{CANARY}" unsecuredLoginStringClaim_sub="kafka"'
    given = {
        "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
        f"{LISTENER}.oauthbearer.sasl.login.callback.handler.class": handler,
        jaas: SASL_SETTINGS[jaas].replace("required", f"required {options}"),
    }
    return security_of_link(**given, **changes)


async def test_a_link_logs_in_by_a_token_that_the_settings_ask_to_write_unsecured() -> None:
    async with linked(oauth_link(UNSECURED_LOGIN)) as link:
        response = await link.ask(CreateDelegationTokenRequest(), 3, LONG_MS)
        assert response.token_requester_principal_name == "kafka"


async def test_a_link_without_a_token_opens_no_connection_until_there_is_one() -> None:
    opened = 0

    def count(connection: asyncio.BufferedProtocol, _address: Address) -> asyncio.BufferedProtocol:
        nonlocal opened
        opened += 1
        return connection

    with http_server() as provider:
        provider.answer = lambda request: send(request, b"", 503)
        security = oauth_link(SECURED_LOGIN, **{"sasl.oauthbearer.token.endpoint.url": provider.url})
        async with linked(replace(security, add_layer=count)) as link:
            for _ in range(3):
                with pytest.raises(ConnectionError, match=r"no token to log in with: .* status 503") as error:
                    await link.ask(MetadataRequest(topics=[]), 4, LONG_MS)
                assert CANARY not in str(error.value)
            assert opened == 0


async def test_a_broker_that_is_to_use_tokens_and_has_no_allowed_place_for_them_does_not_start() -> None:
    with pytest.raises(ConfigError, match=r"listener SASL_PLAINTEXT, logins of brokers: .*endpoint\.url is not set"):
        oauth_link(SECURED_LOGIN)
    urls = {"pybroker.sasl.oauthbearer.allowed.urls": "https://a/b", "sasl.oauthbearer.token.endpoint.url": "https://c"}
    with pytest.raises(ConfigError, match="the URL is not among the allowed ones"):
        oauth_link(SECURED_LOGIN, **urls)


async def test_a_wrong_password_breaks_the_link_and_is_not_in_the_error() -> None:
    jaas = SASL_SETTINGS[f"{LISTENER}.plain.sasl.jaas.config"].replace(
        f'password="{CANARY}-own" ', f'password="{CANARY}-wrong" '
    )
    async with linked(security_of_link(**{f"{LISTENER}.plain.sasl.jaas.config": jaas})) as link:
        with pytest.raises(ConnectionError, match=r"could not log in by PLAIN: .*Invalid username") as raised:
            await link.ask(MetadataRequest(topics=[]), 4, LONG_MS)
        assert CANARY not in str(raised.value)


async def test_brokers_without_a_password_of_their_own_do_not_connect() -> None:
    with pytest.raises(ConfigError, match="has no username and no password"):
        security_of_link(**{"sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-256"})


async def test_a_link_logs_in_again_before_its_session_ends_while_requests_wait() -> None:
    """The login's session is told to be so short that each request finds it over."""
    log_in = security_of_link().log_in
    assert log_in is not None
    logins = []

    async def short_sessions(ask: Ask) -> int:
        logins.append(await log_in(ask))
        return 1

    async with linked(LinkSecurity(log_in=short_sessions), LONG_MS) as link:
        await link.ask(MetadataRequest(topics=[]), 4, LONG_MS)
        while len(logins) == 1:
            answers = await asyncio.gather(*(link.ask(MetadataRequest(topics=[]), 4, LONG_MS) for _ in range(3)))
            assert all(len(answer.brokers) == 1 for answer in answers)
        assert logins == [LONG_MS] * 2


async def test_a_session_that_cannot_be_renewed_breaks_the_link_and_the_next_request_opens_another() -> None:
    log_in = security_of_link().log_in
    assert log_in is not None
    logins = 0

    async def second_login_fails(ask: Ask) -> int:
        nonlocal logins
        logins += 1
        if logins == 2:
            raise ConnectionError("no login")
        await log_in(ask)
        return 1 if logins == 1 else 0

    async with linked(LinkSecurity(log_in=second_login_fails), LONG_MS) as link:
        with pytest.raises(ConnectionError, match="no login"):
            await requests_for_ever(link)
        assert not link.is_connected
        await link.ask(MetadataRequest(topics=[]), 4, LONG_MS)
        assert logins == 3
