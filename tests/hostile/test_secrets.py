"""No secret of a login appears in any output of a broker: its log, its responses, its commands."""

import asyncio
import subprocess
import time
from base64 import b64encode
from pathlib import Path

import pytest
from pybroker.protocol.client import SaslLogin
from pybroker.protocol.errors import ErrorCode, KafkaError
from pybroker.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from pybroker.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pybroker.protocol.scram import SCRAM_MECHANISMS
from support.clients.async_wire_client import AsyncWireClient
from support.processes.broker_process import PYBROKER, BrokerProcess
from support.security.sasl_broker import CANARY, LISTENER, SASL_SETTINGS, log_in, login_of, unsecured_token

pytestmark = pytest.mark.timeout(120)
_BROKER = 4
SALT, SALTED = f"{CANARY}-salt".encode(), f"{CANARY}-salted-password".encode()
UPSERTION = ScramCredentialUpsertion(name="bob", mechanism=1, iterations=4096, salt=SALT, salted_password=SALTED)

PASSWORDS = {
    "password.encoder.secret": f"{CANARY}-encoder",
    "ssl.keystore.password": f"{CANARY}-store",
    "ssl.key.password": f"{CANARY}-key",
    "ssl.truststore.password": f"{CANARY}-trust",
    f"{LISTENER}.oauthbearer.sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer."
    f'OAuthBearerLoginModule required clientId="pybroker" clientSecret="{CANARY}-client";',
}
"""Passwords that no listener of this broker needs, and that appear among its settings."""


def forms_of_secrets(token: str) -> list[str]:
    key = SCRAM_MECHANISMS["SCRAM-SHA-256"].client_key(SALTED)
    encoded = [b64encode(each).decode().rstrip("=") for each in (SALTED, key, CANARY[:12].encode())]
    return [CANARY, token.split(".")[1], *encoded]


async def refused(bootstrap_servers: str, login: SaslLogin) -> str:
    client = await AsyncWireClient.connect(bootstrap_servers)
    with pytest.raises(KafkaError) as raised:
        await log_in(client, login)
    client.close()
    return str(raised.value)


async def asked(bootstrap_servers: str, token: str) -> str:
    """Everything that a client with the right to all is told."""
    client = await AsyncWireClient.connect(bootstrap_servers)
    await log_in(client, login_of("OAUTHBEARER", "", token))
    told = [await client.ask(AlterUserScramCredentialsRequest(upsertions=[UPSERTION, UPSERTION]), 0)]
    told.append(await client.ask(AlterUserScramCredentialsRequest(upsertions=[UPSERTION]), 0))
    assert told[-1].results[0].error_code == ErrorCode.NONE
    name = f"{LISTENER}.scram-sha-256.sasl.jaas.config"
    change = AlterableConfig(name=name, config_operation=0, value=f"{CANARY} x;")
    resource = AlterConfigsResource(resource_type=_BROKER, resource_name="1001", configs=[change])
    told.append(await client.ask(IncrementalAlterConfigsRequest(resources=[resource]), 0))
    assert told[-1].responses[0].error_code != ErrorCode.NONE
    passwords = [
        AlterableConfig(name=f"{LISTENER}.{name}", config_operation=0, value=f"{CANARY}-altered-{name}")
        for name in ("ssl.keystore.password", "ssl.key.password", "ssl.truststore.password")
    ]
    altered = AlterConfigsResource(resource_type=_BROKER, resource_name="1001", configs=passwords)
    told.append(await client.ask(IncrementalAlterConfigsRequest(resources=[altered]), 0))
    assert told[-1].responses[0].error_code == ErrorCode.NONE
    described = DescribeConfigsResource(resource_type=_BROKER, resource_name="1001")
    told.append(await client.ask(DescribeConfigsRequest(resources=[described], include_synonyms=True), 4))
    assert "jaas" in str(told[-1])
    client.close()
    return "\n".join(map(repr, told))


async def texts_of(bootstrap_servers: str, token: str) -> str:
    wrong = [login_of(mechanism, "alice", f"{CANARY}-wrong") for mechanism in ("PLAIN", *SCRAM_MECHANISMS)]
    wrong.append(login_of("OAUTHBEARER", "", unsecured_token("alice", 0, 1)))
    refusals = [await refused(bootstrap_servers, login) for login in wrong]
    return "\n".join([*refusals, await asked(bootstrap_servers, token)])


def test_no_secret_is_in_the_log_the_responses_or_the_printed_settings(tmp_path: Path) -> None:
    token = unsecured_token("root", int(time.time()))
    settings = {name: value.replace("\\", "\\\\") for name, value in {**SASL_SETTINGS, **PASSWORDS}.items()}
    broker = BrokerProcess(tmp_path, settings, (*PYBROKER, "--log-level", "debug")).start()
    try:
        told = asyncio.run(texts_of(broker.bootstrap_servers, token))
    finally:
        broker.stop()
    file = tmp_path / "printed.properties"
    file.write_text(broker.properties())
    printed = subprocess.run([*PYBROKER, "--config", file, "--print-config"], capture_output=True, text=True)
    assert all(name in printed.stdout for name in ("jaas", *PASSWORDS))
    file.write_text(broker.properties().replace("user_alice", "${user_alice"))
    refusal = subprocess.run([*PYBROKER, "--config", file], capture_output=True, text=True)
    assert refusal.returncode == 2
    assert "A login of" in broker.output
    output = "\n".join([broker.output, told, printed.stdout, printed.stderr, refusal.stdout, refusal.stderr])
    assert [each for each in forms_of_secrets(token) if each in output] == []
