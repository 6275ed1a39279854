"""The addresses of the HTTP endpoint, and the protection that they need."""

import pytest
from pybroker.config.config_error import ConfigError
from pybroker.config.http_listeners import http_listeners
from pybroker.config.load import load_config


def settings(**given: str) -> dict[str, str]:
    return {f"pybroker.http.{name.replace('_', '.')}": value for name, value in given.items()}


@pytest.mark.parametrize(
    ("listeners", "expected"),
    [
        ("", []),
        ("HTTP://127.0.0.1:8092", ["HTTP://127.0.0.1:8092"]),
        ("http://localhost:0, HTTP://[::1]:9404", ["HTTP://localhost:0", "HTTP://[::1]:9404"]),
        ("HTTPS://:8092", ["HTTPS://:8092"]),
    ],
)
def test_addresses_are_those_of_the_setting(listeners: str, expected: list[str]) -> None:
    assert [str(each) for each in http_listeners(load_config("", settings(listeners=listeners)))] == expected


@pytest.mark.parametrize("listeners", ["HTTP://:8092", "HTTP://0.0.0.0:1", "HTTP://example.org:1,HTTP://127.0.0.1:2"])
def test_unprotected_address_that_other_machines_reach_is_refused_in_one_line(listeners: str) -> None:
    with pytest.raises(
        ConfigError, match=r"pybroker\.http\.token\.file, use HTTPS://, .* pybroker\.http\.insecure=true"
    ):
        load_config("", settings(listeners=listeners))
    load_config("", settings(listeners=listeners, insecure="true"))
    load_config("", settings(listeners=listeners, token_file="/etc/tokens"))


@pytest.mark.parametrize(
    "listeners", ["8092", "PLAINTEXT://127.0.0.1:8092", "HTTP://127.0.0.1", "HTTP://127.0.0.1:99999"]
)
def test_broken_address_is_refused_with_the_name_of_the_setting(listeners: str) -> None:
    with pytest.raises(ConfigError, match=r"pybroker\.http\.listeners="):
        load_config("", settings(listeners=listeners))
