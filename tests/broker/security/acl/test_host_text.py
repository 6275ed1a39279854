"""Tests that addresses are written as Java writes them."""

import pytest
from pybroker.base.acl_rules.host_text import host_text


@pytest.mark.parametrize(
    ("host", "text"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::1", "0:0:0:0:0:0:0:1"),
        ("::", "0:0:0:0:0:0:0:0"),
        ("2001:db8::a:0", "2001:db8:0:0:0:0:a:0"),
        ("2001:0DB8:0001::FFFF", "2001:db8:1:0:0:0:0:ffff"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("::10.1.2.3", "0:0:0:0:0:0:a01:203"),
        ("64:ff9b::10.1.2.3", "64:ff9b:0:0:0:0:a01:203"),
        ("fe80::1%2", "fe80:0:0:0:0:0:0:1%2"),
        ("no address", "no address"),
        ("", ""),
    ],
)
def test_address_is_written_as_java_writes_it(host: str, text: str) -> None:
    assert host_text(host) == text
