"""Tests of the rules of a listener: each mechanism gets the server that its settings ask for."""

import pytest
from pybroker.broker.security.login_actions import Authenticated, LoginRules
from pybroker.broker.security.login_gate import LoginGate
from pybroker.broker.security.principal import Principal
from pybroker.broker.security.sasl.login_rules import login_rules
from pybroker.broker.security.sasl.oauth_bearer import OAuthBearerServer, ValidToken
from pybroker.broker.security.sasl.scram_users import ScramUsers
from pybroker.config.config_error import ConfigError
from pybroker.config.sasl_mechanisms import MechanismOptions
from support.security.gate_driver import handshake, token


class Anybody:
    def validate(self, token: str, now_ms: int) -> ValidToken:
        return ValidToken(token, now_ms + 1000)


def rules_for(*mechanisms: MechanismOptions) -> LoginRules:
    nonces = iter(["first", "second"])
    return login_rules(
        {each.name: each for each in mechanisms},
        scram_users=ScramUsers(b"secret"),
        new_nonce=lambda: next(nonces),
        signed_tokens=Anybody(),
        max_receive_bytes=524288,
        failure_delay_ms=100,
    )


def log_in(rules: LoginRules, mechanism: str, message: bytes) -> Authenticated:
    gate = LoginGate(rules)
    gate.frame(handshake(mechanism), now_ms=0, wall_ms=0)
    _, known = gate.frame(token(message), now_ms=0, wall_ms=0)
    assert isinstance(known, Authenticated)
    return known


def test_plain_knows_the_users_of_the_options() -> None:
    rules = rules_for(MechanismOptions("PLAIN", {"username": "broker", "password": "x", "user_a": "secret"}, 5000))
    assert log_in(rules, "PLAIN", b"\0a\0secret") == Authenticated(Principal("User", "a"), "PLAIN", 5000)


def test_each_scram_login_has_a_nonce_of_its_own() -> None:
    mechanism = rules_for(MechanismOptions("SCRAM-SHA-512", {}, 0)).mechanisms["SCRAM-SHA-512"]
    answers = [mechanism.new_server().evaluate(b"n,,n=a,r=x", 0).message for _ in range(2)]
    assert [each.split(b",")[0] for each in answers] == [b"r=xfirst", b"r=xsecond"]


def test_oauth_bearer_takes_signed_tokens_unless_unsecured_ones_are_named() -> None:
    signed = rules_for(MechanismOptions("OAUTHBEARER", {}, 0))
    assert log_in(signed, "OAUTHBEARER", b"n,,\x01auth=Bearer bob\x01\x01").principal.name == "bob"
    unsecured = rules_for(MechanismOptions("OAUTHBEARER", {}, 0, takes_unsecured_tokens=True))
    server = unsecured.mechanisms["OAUTHBEARER"].new_server()
    assert isinstance(server, OAuthBearerServer)
    assert server.evaluate(b"n,,\x01auth=Bearer bob\x01\x01", 0).login is None


def test_bad_option_of_the_login_module_is_refused() -> None:
    options = {"unsecuredValidatorAllowableClockSkewMs": "x"}
    with pytest.raises(ConfigError, match=r"sasl\.jaas\.config of OAUTHBEARER: option unsecuredValidator"):
        rules_for(MechanismOptions("OAUTHBEARER", options, 0, takes_unsecured_tokens=True))
