"""Tests of the names of users behind TLS connections."""

import pytest
from pybroker.broker.security.tls.peers import user_of_peer
from pybroker.config.mapping_rules import parse_mapping_rules
from support.in_process.tls_ends import Ends, client_context, server_context


@pytest.mark.parametrize(
    ("rules", "user"),
    [
        ("DEFAULT", "CN=alice+UID=a1,O=Müller\\, Söhne,C=DE"),
        ("RULE:^CN=(\\w+)[+,].*$/$1/U", "ALICE"),
        ("RULE:^CN=bob.*$/bob/", None),
        ("RULE:^CN=bob.*$/bob/,DEFAULT", "CN=alice+UID=a1,O=Müller\\, Söhne,C=DE"),
    ],
)
def test_user_is_named_by_the_certificate_and_the_rules(rules: str, user: str | None) -> None:
    ends = Ends(server_context(trusted="authority"), client_context("client"))
    ends.carry()
    assert user_of_peer(ends.server.tls.peer_certificate, parse_mapping_rules(rules)) == user


def test_peer_without_a_certificate_is_anonymous_whatever_the_rules() -> None:
    assert user_of_peer(None, parse_mapping_rules("RULE:x/y/")) == "ANONYMOUS"


def test_peer_with_a_malformed_certificate_has_no_name() -> None:
    assert user_of_peer(b"\x30\x00", parse_mapping_rules("DEFAULT")) is None
