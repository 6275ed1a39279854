"""Tests of the broker's own login at other brokers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.security.sasl.own_login import own_credentials, renewal_delay_ms
from pybroker.config.config_error import ConfigError
from pybroker.protocol.client.sasl import Credentials


def test_username_and_password_of_the_login_module_are_used() -> None:
    options = {"username": "broker", "password": "secret", "user_a": "x"}
    assert own_credentials("PLAIN", options) == Credentials("PLAIN", "broker", "secret")


@pytest.mark.parametrize(
    ("mechanism", "options", "says"),
    [
        ("PLAIN", {"username": "secret"}, "the login module of PLAIN has no password"),
        ("SCRAM-SHA-256", {"password": "secret"}, "the login module of SCRAM-SHA-256 has no username"),
        ("SCRAM-SHA-256", {}, "has no username and no password"),
    ],
)
def test_broker_without_credentials_is_refused(mechanism: str, options: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says) as error:
        own_credentials(mechanism, options)
    assert "secret" not in str(error.value)


@given(st.integers(1, 10**9), st.floats(0, 1))
def test_login_is_renewed_in_the_last_part_of_the_session(lifetime_ms: int, share: float) -> None:
    delay_ms = renewal_delay_ms(lifetime_ms, share)
    assert delay_ms is not None
    assert int(lifetime_ms * 0.85) <= delay_ms <= lifetime_ms * 0.95 + 1


def test_session_without_end_is_not_renewed() -> None:
    assert renewal_delay_ms(0, 0.5) is None
