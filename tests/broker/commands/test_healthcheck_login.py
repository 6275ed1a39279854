"""``pybroker healthcheck --config`` logs in where clients must, with a password or token from the broker's settings."""

from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.commands.command_line import main
from pybroker.config.sasl_mechanisms import SECURED_LOGIN, UNSECURED_LOGIN
from support.security.sasl_broker import CANARY, LISTENER, SASL_SETTINGS
from support.security.token_provider import MODULE

PLAIN = f"{LISTENER}.plain.sasl.jaas.config"
OAUTH = f"{LISTENER}.oauthbearer"
TOKENS = {
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "sasl.mechanism.inter.broker.protocol": "OAUTHBEARER",
    f"{OAUTH}.sasl.login.callback.handler.class": UNSECURED_LOGIN,
    f"{OAUTH}.sasl.jaas.config": f'{MODULE} unsecuredLoginStringClaim_sub="a" clientId="a" clientSecret="{CANARY}";',
}
NO_PROVIDER = {
    f"{OAUTH}.sasl.login.callback.handler.class": SECURED_LOGIN,
    "sasl.oauthbearer.token.endpoint.url": "http://127.0.0.1:1/token",
}


def check(file: Path, settings: dict[str, str]) -> int:
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return main(["healthcheck", "--config", str(file)])


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({}, 0, "broker 1001 at"),
        ({PLAIN: SASL_SETTINGS[PLAIN].replace(f'username="broker" password="{CANARY}-own" ', "")}, 0, "broker 1001 at"),
        ({"sasl.enabled.mechanisms": "SCRAM-SHA-256"}, 0, "the settings have no password to log in with"),
        (TOKENS, 0, "broker 1001 at"),
        (TOKENS | NO_PROVIDER, 0, "there is no token to log in with: http://127.0.0.1:1/token: "),
        ({PLAIN: SASL_SETTINGS[PLAIN].replace(CANARY, f"{CANARY}-other")}, 1, "does not let the check log in"),
    ],
    ids=["login of brokers", "a user", "no password", "token", "provider is away", "wrong password"],
)
def test_healthcheck_logs_in_with_a_password_or_token_of_the_settings(
    changes: dict[str, str], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Broker(SASL_SETTINGS) as broker:
        settings = SASL_SETTINGS | changes | {"listeners": f"SASL_PLAINTEXT://{broker.bootstrap_servers}"}
        assert check(tmp_path / "server.properties", settings) == code
    output = capsys.readouterr()
    assert words in output.out + output.err
    assert CANARY not in output.out + output.err
