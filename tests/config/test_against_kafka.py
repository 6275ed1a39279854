"""Apache Kafka's own KafkaConfig treats the same settings alike, except for a list of deviations.

``kafka_settings_cases.txt`` has one case in each line; its settings are separated by semicolons.
"""

import base64
import subprocess
from pathlib import Path

import pytest
from pybroker.config.config_error import ConfigError
from pybroker.config.load import load_config
from support.processes.java import java_command

FOLDER = Path(__file__).parent
CASES = (FOLDER / "kafka_settings_cases.txt").read_text(encoding="utf-8").splitlines()

# Refused here and taken there, or the other way round: each stands on docs/operator/deviations.md.
DIFFERENT = {
    "listeners=PLAINTEXT://0.0.0.0:9092": "taken: each client is told the address by which it came",
    "group.min.session.timeout.ms=9;group.max.session.timeout.ms=8": "refused: no consumer could join",
    "group.coordinator.rebalance.protocols=classic,consumer": "taken: the consumer protocol does not need KRaft",
    "inter.broker.protocol.version=2.8": "refused: nothing older than 3.0 is spoken between brokers",
}


@pytest.fixture(scope="module")
def kafka() -> dict[str, str]:
    """Kafka's verdict on each case."""
    cases = [*CASES, *DIFFERENT]
    given = "".join(base64.b64encode(text.replace(";", "\n").encode("latin-1")).decode() + "\n" for text in cases)
    command = java_command(str(FOLDER / "KafkaSettingsProbe.java"))
    ended = subprocess.run(command, input=given, capture_output=True, text=True, check=True)
    return dict(zip(cases, ended.stdout.splitlines(), strict=True))


def outcome(text: str) -> str:
    try:
        config = load_config(text.replace(";", "\n"))
    except ConfigError:
        return "refused"
    directories = ",".join(config.log_dirs).replace("./pybroker-data", "/tmp/kafka-logs")
    listeners = " ".join(str(listener) for listener in config.listeners())
    times = f"{config.retention_ms} {config.roll_ms} {config.roll_jitter_ms} {config.flush_interval_ms}"
    return f"taken {times} {config.inter_broker_listener_name} {directories} {listeners}"


@pytest.mark.parametrize("text", CASES)
def test_settings_have_the_same_outcome_as_in_kafka(text: str, kafka: dict[str, str]) -> None:
    assert outcome(text) == kafka[text]


@pytest.mark.parametrize("text", DIFFERENT)
def test_each_listed_deviation_from_kafka_still_exists(text: str, kafka: dict[str, str]) -> None:
    assert outcome(text).split()[0] == DIFFERENT[text].split(":", maxsplit=1)[0]
    assert kafka[text].split()[0] != outcome(text).split()[0]
