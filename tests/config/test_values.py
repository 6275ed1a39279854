"""Values of settings are read and printed as by Kafka's ConfigDef."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.config.checks import (
    NotEmpty,
    NotNull,
    OneOf,
    OneOfInAnyCase,
    RangeOr,
    ThrottledReplicas,
    ValueCheck,
    at_least,
    between,
)
from pybroker.config.values import (
    BOOLEAN,
    CLASS,
    DOUBLE,
    INT,
    LIST,
    LONG,
    PASSWORD,
    SHORT,
    STRING,
    BadValueError,
    Value,
    ValueType,
    format_value,
    parse_value,
)
from pybroker.config.versions import MetadataVersionCheck, is_at_least, metadata_version


@pytest.mark.parametrize(
    ("value_type", "text", "value"),
    [
        (BOOLEAN, " TRUE ", True),
        (BOOLEAN, "False", False),
        (STRING, " a b\t", "a b"),
        (STRING, "\u00a0a", "\u00a0a"),  # Java trims up to the ASCII space only
        (STRING, "", ""),
        (CLASS, " org.example.C ", "org.example.C"),
        (PASSWORD, " secret ", "secret"),
        (INT, "+5", 5),
        (INT, " -2147483648 ", -(2**31)),
        (INT, "2147483647", 2**31 - 1),
        (SHORT, "32767", 32767),
        (LONG, "9223372036854775807", 2**63 - 1),
        (LONG, "0007", 7),
        (DOUBLE, "1", 1.0),
        (DOUBLE, ".5", 0.5),
        (DOUBLE, "5.", 5.0),
        (DOUBLE, "1e3", 1000.0),
        (DOUBLE, "1.5d", 1.5),
        (DOUBLE, "1e309", math.inf),
        (DOUBLE, "-Infinity", -math.inf),
        (LONG, "\u0661", 1),
        (LONG, "-\u0967\uff12", -12),
        (CLASS, " a.B ", "a.B"),
        (LIST, "", ()),
        (LIST, " a , b,c ", ("a", "b", "c")),
        (LIST, "a,,b,", ("a", "", "b", "")),
    ],
)
def test_text_is_parsed_into_a_value(value_type: ValueType, text: str, value: Value) -> None:
    parsed = parse_value(value_type, text)
    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    ("value_type", "text"),
    [
        (BOOLEAN, "yes"),
        (BOOLEAN, ""),
        (BOOLEAN, "1"),
        (INT, ""),
        (INT, "2147483648"),
        (INT, "-2147483649"),
        (INT, "1.0"),
        (INT, "1_000"),
        (INT, "0x10"),
        (INT, "1 000"),
        (INT, "9" * 10_000),
        (INT, "\u00b2"),
        (INT, "\U0001d7d9"),
        (CLASS, ""),
        (SHORT, "32768"),
        (LONG, "9223372036854775808"),
        (DOUBLE, ""),
        (DOUBLE, "1,5"),
        (DOUBLE, "NaN"),
        (DOUBLE, "1_0.0"),
        (DOUBLE, "inf"),
    ],
)
def test_text_that_cannot_be_parsed_is_refused(value_type: ValueType, text: str) -> None:
    with pytest.raises(BadValueError, match="must be"):
        parse_value(value_type, text)


@pytest.mark.parametrize(
    ("value", "java"),
    [
        (None, None),
        (True, "true"),
        (-1, "-1"),
        (("a", "b"), "a,b"),
        ((), ""),
        (0.5, "0.5"),
        (0.0, "0.0"),
        (1.0, "1.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (0.00012345, "1.2345E-4"),
        (9999999.0, "9999999.0"),
        (1e7, "1.0E7"),
        (123456789.125, "1.23456789125E8"),
        (-2.5e10, "-2.5E10"),
        (1e300, "1.0E300"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
    ],
)
def test_values_are_printed_as_java_prints_them(value: Value | None, java: str | None) -> None:
    assert format_value(value) == java


@given(st.floats(allow_nan=False))
def test_a_double_is_read_back_from_its_text(value: float) -> None:
    assert parse_value(DOUBLE, str(format_value(value))) == value


@pytest.mark.parametrize(
    ("check", "text", "good", "bad"),
    [
        (at_least(1), "[1,...]", [1, 2**31 - 1], [0, -5, None]),
        (between(-131072, 22), "[-131072,...,22]", [-131072, 22], [-131073, 23]),
        (between(0, 0.5), "[0,...,0.5]", [0.0, 0.5], [-0.1, 0.6]),
        (RangeOr(1, 9, -1), "[1,...,9] or -1", [-1, 1, 9], [0, -2, 10]),
        (RangeOr(1, None, -1), "[1,...] or -1", [-1, 1, 900], [0, -2]),
        (OneOf("a", "b"), "[a, b]", ["a", "b", ("a", "b"), ()], ["A", "", None, ("a", "c")]),
        (OneOfInAnyCase("A", "B"), "(case insensitive) [A, B]", ["a", "B"], ["c", None]),
        (NotNull(), "non-null string", ["", "a"], [None]),
        (NotEmpty(), "non-empty string", [None, "a"], [""]),
        (
            ThrottledReplicas(),
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
            [(), ("*",), ("0:1",), ("0:1", "12:3"), ("",)],
            [("0",), ("a:b",), ("*", "0:1"), ("0:1:2",)],
        ),
    ],
)
def test_value_checks_accept_and_refuse_as_kafka_does(
    check: ValueCheck, text: str, good: list[Value | None], bad: list[Value | None]
) -> None:
    assert str(check) == text
    for value in good:
        check(value)
    for value in bad:
        with pytest.raises(BadValueError, match="must"):
            check(value)


@pytest.mark.parametrize(
    ("text", "version"),
    [("3.9", "3.9-IV0"), ("3.9.1", "3.9-IV0"), ("3.0", "3.0-IV1"), ("0.10.0", "0.10.0-IV1"), ("0.8.2.2", "0.8.2")],
)
def test_versions_have_several_spellings(text: str, version: str) -> None:
    assert metadata_version(text) == version


@pytest.mark.parametrize("text", ["", "3", "9.9", "3.9-IV7", "0.11", "x"])
def test_unknown_versions_are_refused(text: str) -> None:
    with pytest.raises(BadValueError, match="version"):
        MetadataVersionCheck()(text)


def test_versions_are_ordered_by_release() -> None:
    assert is_at_least("3.0", "0.11.0")
    assert not is_at_least("0.9.0", "0.10.0-IV0")
