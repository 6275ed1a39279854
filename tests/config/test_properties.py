"""Tests of the parser of Java's .properties syntax.

``java_properties.json`` holds texts and what java.util.Properties of Java 17 made of them; the name "" is left out.
"""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.config.config_error import ConfigError
from pybroker.config.properties import parse_properties, read_properties

CASES = json.loads((Path(__file__).parent / "java_properties.json").read_text(encoding="utf-8"))


def values(text: str) -> dict[str, str]:
    return {name: line.value for name, line in parse_properties(text).items() if name}


@pytest.mark.parametrize(("text", "java"), CASES, ids=[repr(text) for text, _ in CASES])
def test_properties_are_parsed_as_by_java(text: str, java: dict[str, str] | None) -> None:
    if java is None:
        with pytest.raises(ConfigError, match="hexadecimal"):
            parse_properties(text)
    else:
        assert values(text) == java


def test_a_line_keeps_its_number_through_continuations() -> None:
    properties = parse_properties("# comment\n\na = 1,\\\n   2\nb = 3\n")
    assert [(line.name, line.line) for line in properties.values()] == [("a", 3), ("b", 5)]


def test_the_last_line_of_a_name_wins_and_gives_its_number() -> None:
    assert parse_properties("a=1\na=2")["a"].line == 2


def test_broken_escape_is_reported_with_its_line() -> None:
    with pytest.raises(ConfigError, match=r"^server line 2: .*hexadecimal"):
        parse_properties("a=b\nc=\\u00g0", source="server")


def test_properties_file_is_read_as_latin_1(tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(b"broker.rack=Z\xfcrich \\u2603\r\n")
    assert read_properties(file)["broker.rack"].value == "Zürich ☃"


@pytest.mark.parametrize("name", ["missing", "."])
def test_unreadable_properties_file_is_named_in_the_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="cannot be read") as raised:
        read_properties(tmp_path / name)
    assert str(tmp_path) in str(raised.value)
    assert "\n" not in str(raised.value)


def escaped(text: str) -> str:
    return "".join(f"\\u{ord(character):04x}" if ord(character) < 0x10000 else character for character in text)


@given(st.dictionaries(st.text(min_size=1), st.text(), max_size=5))
def test_escaped_properties_round_trip(expected: dict[str, str]) -> None:
    text = "".join(f"{escaped(name)} = {escaped(value)}\n" for name, value in expected.items())
    assert values(text) == expected


@given(st.text(alphabet=st.sampled_from(list("ab=: \t\f\\\n\r#!u0")), max_size=40))
def test_any_text_is_read_or_refused_with_one_line(text: str) -> None:
    try:
        parse_properties(text)
    except ConfigError as error:
        line = str(error)
    else:
        return
    assert "\n" not in line
