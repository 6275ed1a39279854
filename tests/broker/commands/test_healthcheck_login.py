"""``pybroker healthcheck --config`` logs in where clients must, with a password from the broker's settings."""

from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.commands.command_line import main
from support.security.sasl_broker import CANARY, LISTENER, SASL_SETTINGS

PLAIN = f"{LISTENER}.plain.sasl.jaas.config"


def check(file: Path, settings: dict[str, str]) -> int:
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return main(["healthcheck", "--config", str(file)])


@pytest.mark.parametrize(
    ("changes", "code", "words"),
    [
        ({}, 0, "broker 1001 at"),
        ({PLAIN: SASL_SETTINGS[PLAIN].replace(f'username="broker" password="{CANARY}-own" ', "")}, 0, "broker 1001 at"),
        ({"sasl.enabled.mechanisms": "SCRAM-SHA-256"}, 0, "the settings have no password to log in with"),
        ({PLAIN: SASL_SETTINGS[PLAIN].replace(CANARY, f"{CANARY}-other")}, 1, "does not let the check log in"),
    ],
    ids=["login of brokers", "a user", "no password", "wrong password"],
)
def test_healthcheck_logs_in_with_a_password_of_the_settings(
    changes: dict[str, str], code: int, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Broker(SASL_SETTINGS) as broker:
        settings = SASL_SETTINGS | changes | {"listeners": f"SASL_PLAINTEXT://{broker.bootstrap_servers}"}
        assert check(tmp_path / "server.properties", settings) == code
    output = capsys.readouterr()
    assert words in output.out + output.err
    assert CANARY not in output.out + output.err
