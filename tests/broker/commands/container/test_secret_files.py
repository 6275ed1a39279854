"""Tests of the variables of Kafka's image that name key stores and files with their passwords."""

from pathlib import Path

import pytest
from pybroker.broker.commands.container.secret_files import with_secret_files
from pybroker.broker.commands.container.server_file import final_properties
from pybroker.config.config_error import ConfigError
from pybroker.config.properties import parse_properties


def test_variables_of_files_become_settings(tmp_path: Path) -> None:
    (tmp_path / "password").write_text("secret1\n")
    environment = {
        "KAFKA_LISTENERS": "SSL://:9093",
        "KAFKA_SSL_KEYSTORE_FILENAME": "keys.jks",
        "KAFKA_SSL_KEYSTORE_CREDENTIALS": "password",
        "KAFKA_SSL_KEY_CREDENTIALS": "password",
        "KAFKA_SSL_TRUSTSTORE_FILENAME": "trust.jks",
        "KAFKA_SSL_TRUSTSTORE_CREDENTIALS": "password",
    }
    text = final_properties(None, with_secret_files(environment, tmp_path), "/data")
    assert {name: given.value for name, given in parse_properties(text, source="file").items()} == {
        "listeners": "SSL://:9093",
        "log.dirs": "/data",
        "ssl.key.password": "secret1",
        "ssl.keystore.location": str(tmp_path / "keys.jks"),
        "ssl.keystore.password": "secret1",
        "ssl.truststore.location": str(tmp_path / "trust.jks"),
        "ssl.truststore.password": "secret1",
    }


def test_variable_of_the_setting_itself_wins(tmp_path: Path) -> None:
    environment = {"KAFKA_SSL_KEYSTORE_FILENAME": "keys.jks", "KAFKA_SSL_KEYSTORE_LOCATION": "/other"}
    assert with_secret_files(environment, tmp_path) == {"KAFKA_SSL_KEYSTORE_LOCATION": "/other"}


def test_missing_file_of_a_password_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"KAFKA_SSL_KEY_CREDENTIALS=gone: .*gone cannot be read: "):
        with_secret_files({"KAFKA_SSL_KEY_CREDENTIALS": "gone"}, tmp_path)
