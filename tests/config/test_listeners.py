"""Tests of the parsing of listeners and their security protocols."""

import pytest
from pybroker.config.config_error import ConfigError
from pybroker.config.listeners import Listener, parse_listeners, parse_protocol_map

PROTOCOLS = {"PLAINTEXT": "PLAINTEXT", "EXTERNAL": "PLAINTEXT", "SAFE": "SSL", "A.B": "PLAINTEXT"}


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("PLAINTEXT://:9092", Listener("PLAINTEXT", None, 9092, "PLAINTEXT")),
        ("plaintext://localhost:0", Listener("PLAINTEXT", "localhost", 0, "PLAINTEXT")),
        ("SAFE://0.0.0.0:65535", Listener("SAFE", "0.0.0.0", 65535, "SSL")),
        ("EXTERNAL://[::1]:9092", Listener("EXTERNAL", "::1", 9092, "PLAINTEXT")),
        ("EXTERNAL://::1:9092", Listener("EXTERNAL", "::1", 9092, "PLAINTEXT")),
        ("EXTERNAL://[fe80::1%eth0]:9092", Listener("EXTERNAL", "fe80::1%eth0", 9092, "PLAINTEXT")),
        ("A.B://my_host-1.example:1", Listener("A.B", "my_host-1.example", 1, "PLAINTEXT")),
    ],
)
def test_listener_is_parsed(text: str, listener: Listener) -> None:
    assert parse_listeners(text, PROTOCOLS) == (listener,)


@pytest.mark.parametrize("text", ["PLAINTEXT://:9092", "SAFE://h:1", "EXTERNAL://[::1]:9092"])
def test_listener_is_printed_in_the_form_it_is_parsed_from(text: str) -> None:
    assert str(parse_listeners(text, PROTOCOLS)[0]) == text


def test_several_listeners_are_separated_by_commas_and_blanks() -> None:
    listeners = parse_listeners(" PLAINTEXT://:1 , EXTERNAL://h:2,", PROTOCOLS)
    assert [str(listener) for listener in listeners] == ["PLAINTEXT://:1", "EXTERNAL://h:2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least one"),
        (" , ", "at least one"),
        ("h:9092", "NAME://host:port"),
        ("PLAINTEXT:h:1", "NAME://host:port"),
        ("PLAINTEXT://h", "NAME://host:port"),
        ("PLAINTEXT://h:x", "NAME://host:port"),
        ("PLAINTEXT://h:1/", "NAME://host:port"),
        ("PLAINTEXT://h:65536", "0 to 65535"),
        ("PLAINTEXT://h:-1", "0 to 65535"),
        ("PLAINTEXT://h:99999999999999999999", "0 to 65535"),
        ("OTHER://h:1", "no entry for OTHER"),
        ("PLAINTEXT://h:1,plaintext://h:2", "names of listeners must differ"),
        ("PLAINTEXT://h:1,EXTERNAL://h:1", "port 1 is used twice"),
        ("PLAINTEXT://1.1.1.1:1,EXTERNAL://1.1.1.2:1", "port 1 is used twice"),
        ("PLAINTEXT://:1,EXTERNAL://[::1]:1", "port 1 is used twice"),
        ("PLAINTEXT://1.1.1.1:1,EXTERNAL://[::1]:1,SAFE://h:1", "port 1 is used twice"),
    ],
)
def test_invalid_listener_list_is_refused_with_its_text(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words) as raised:
        parse_listeners(text, PROTOCOLS, "listeners")
    assert str(raised.value).startswith(f"listeners={text}: ")


@pytest.mark.parametrize("text", ["PLAINTEXT://1.1.1.1:1,EXTERNAL://[::1]:1", "PLAINTEXT://h:0,EXTERNAL://h:0"])
def test_a_port_may_be_shared_by_both_ip_versions_and_port_0_by_all(text: str) -> None:
    assert len(parse_listeners(text, PROTOCOLS)) == 2


def test_advertised_addresses_may_share_a_port() -> None:
    listeners = parse_listeners("PLAINTEXT://a:1,EXTERNAL://b:1", PROTOCOLS, opened=False)
    assert [listener.host for listener in listeners] == ["a", "b"]


@pytest.mark.parametrize("port", [-1, 65536, 2**31 - 1, -(2**31)])
def test_an_advertised_port_may_be_any_32_bit_number(port: int) -> None:
    (listener,) = parse_listeners(f"PLAINTEXT://h:{port}", PROTOCOLS, opened=False)
    assert listener.port == port


@pytest.mark.parametrize("port", ["2147483648", "-2147483649", "9" * 5000])
def test_an_advertised_port_of_more_than_32_bits_is_refused(port: str) -> None:
    with pytest.raises(ConfigError, match="port of"):
        parse_listeners(f"PLAINTEXT://h:{port}", PROTOCOLS, opened=False)


def test_protocols_are_read_by_name_in_capital_letters() -> None:
    assert parse_protocol_map("plaintext:PLAINTEXT, Ext : ssl,a:b:SASL_SSL") == {
        "PLAINTEXT": "PLAINTEXT",
        "EXT": "SSL",
        "A:B": "SASL_SSL",
    }


@pytest.mark.parametrize(("text", "words"), [("A:TLS", "must be one of"), ("A", "NAME:PROTOCOL"), (":SSL", "NAME:")])
def test_invalid_listener_protocol_map_is_refused(text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        parse_protocol_map(text)
