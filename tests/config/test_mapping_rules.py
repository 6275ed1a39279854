"""Tests of ``ssl.principal.mapping.rules``, against the results of Kafka (`tests/reference/tls/mappings.txt`)."""

import re
from collections import defaultdict
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.config.config_error import ConfigError
from pybroker.config.java_patterns import PatternError, translate_pattern
from pybroker.config.mapping_rules import LONGEST_NAME, parse_mapping_rules

TABLE = Path(__file__).parents[1] / "reference" / "tls" / "mappings.txt"
# Refused at the start, because Python has no such construct, or reads it differently.
NOT_SUPPORTED = {"RULE:CN=\\p{Alpha}+/x/", "RULE:CN=[a-z&&[a]]*/x/", "RULE:CN=[]a]*/x/"}


def unescape(text: str) -> str:
    return re.sub(r"~u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), text)


def by_rules() -> dict[str, dict[str, str]]:
    """Kafka's result for each name, by rules."""
    results: dict[str, dict[str, str]] = defaultdict(dict)
    for line in TABLE.read_text().splitlines():
        rules, name, result = map(unescape, line.split("\t"))
        results[rules][name] = result
    return results


@pytest.mark.parametrize(("rules", "results"), by_rules().items())
def test_names_are_mapped_as_by_kafka(rules: str, results: dict[str, str]) -> None:
    if "error" in results.values() or rules in NOT_SUPPORTED:
        with pytest.raises(ConfigError, match=r"ssl\.principal\.mapping\.rules: "):
            parse_mapping_rules(rules)
        return
    mapping = parse_mapping_rules(rules)
    users = {name: mapping.user_of(name) for name in results}
    assert {name: "none" if user is None else f"={user}" for name, user in users.items()} == results


@given(st.text(alphabet="RULE:/,aDFT$1(.*)\\[]{}? L", max_size=30))
def test_any_text_is_parsed_or_refused_in_one_line(text: str) -> None:
    try:
        parse_mapping_rules(f"RULE:{text}").user_of("CN=a")
    except ConfigError as error:
        assert "\n" not in str(error)  # noqa: PT017


@given(st.text(alphabet="ab.^$|()[]{}*+?\\QEkdwsb<>1=!:i-&", max_size=12))
def test_translated_pattern_compiles_without_a_warning(pattern: str) -> None:
    with suppress(PatternError):
        translate_pattern(pattern)


def test_very_long_name_is_matched_by_no_pattern() -> None:
    mapping = parse_mapping_rules("RULE:.*/x/")
    assert mapping.user_of("a" * LONGEST_NAME) == "xx"
    assert mapping.user_of("a" * (LONGEST_NAME + 1)) is None
