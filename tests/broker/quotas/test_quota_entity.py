"""The nodes of quotas, and the values in them."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.quotas.quota_entity import DEFAULT, QuotaEntity, entity_of_node
from pybroker.broker.quotas.quota_type import QuotaType, decode_quotas, encode_quota

NAMES = st.text(min_size=1) | st.just(DEFAULT)
NO = st.none()
ENTITIES = (
    st.builds(QuotaEntity, NAMES, NO | NAMES, NO)
    | st.builds(QuotaEntity, NO, NAMES, NO)
    | st.builds(QuotaEntity, NO, NO, NAMES)
)


@given(ENTITIES)
def test_an_entity_is_read_back_from_its_node_and_from_its_parts(entity: QuotaEntity) -> None:
    assert entity_of_node(*entity.node) == entity
    assert QuotaEntity.of_parts(entity.parts) == entity


@pytest.mark.parametrize(
    ("parts", "node"),
    [
        ({"user": "ann"}, ("users", "ann")),
        ({"user": None}, ("users", "<default>")),
        ({"user": "<default>"}, ("users", "%3Cdefault%3E")),
        ({"client-id": "a/b"}, ("clients", "a%2Fb")),
        ({"client-id": None, "user": "ann"}, ("users", "ann/clients/<default>")),
        ({"user": None, "client-id": "c"}, ("users", "<default>/clients/c")),
        ({"ip": "10.0.0.1"}, ("ips", "10.0.0.1")),
        ({"ip": None}, ("ips", "<default>")),
    ],
)
def test_an_entity_has_the_node_that_kafka_gives_it(parts: dict[str, str | None], node: tuple[str, str]) -> None:
    assert QuotaEntity.of_parts(parts).node == node


@pytest.mark.parametrize(
    ("entity_type", "name"),
    [
        ("users", "ann/clients"),
        ("users", "ann/topics/c"),
        ("users", "ann/clients/c/d"),
        ("users", "/clients/c"),
        ("users", ""),
        ("clients", "a/b"),
        ("ips", "a/b"),
        ("topics", "t"),
    ],
)
def test_other_nodes_have_no_entity(entity_type: str, name: str) -> None:
    assert entity_of_node(entity_type, name) is None


# -- values

# Printed by Double.toString of Java 17.
JAVAS = [
    (0.0, "0.0"),
    (0.5, "0.5"),
    (9999999.0, "9999999.0"),
    (1e7, "1.0E7"),
    (12345678.9, "1.23456789E7"),
    (1e-3, "0.001"),
    (0.000999, "9.99E-4"),
    (1e-10, "1.0E-10"),
    (1e30, "1.0E30"),
    (1.7976931348623157e308, "1.7976931348623157E308"),
    (123456789012345680.0, "1.2345678901234568E17"),
    (math.inf, "Infinity"),
    (-1e9, "-1.0E9"),
    (33.333333333333336, "33.333333333333336"),
]


@pytest.mark.parametrize(("value", "text"), JAVAS)
def test_a_fraction_is_written_as_java_prints_it(value: float, text: str) -> None:
    assert encode_quota(QuotaType.REQUEST, value) == text


@given(st.floats(allow_nan=False), st.sampled_from([QuotaType.REQUEST, QuotaType.CONTROLLER_MUTATION]))
def test_every_fraction_is_read_back(value: float, quota_type: QuotaType) -> None:
    text = encode_quota(quota_type, value)
    assert text is not None
    assert decode_quotas({quota_type.key: text}) == {quota_type: value}


@given(st.integers(0, 2**53))
def test_every_whole_number_is_read_back(value: int) -> None:
    for close in (value, value + 5e-7, value - 5e-7):
        if value == 0 or value < 2**20:
            assert encode_quota(QuotaType.PRODUCE, close) == str(value)
    assert decode_quotas({"producer_byte_rate": str(value)}) == {QuotaType.PRODUCE: float(value)}


@pytest.mark.parametrize(
    ("quota_type", "value", "text"),
    [
        (QuotaType.PRODUCE, 1.5, None),
        (QuotaType.PRODUCE, 1 - 2e-6, None),
        (QuotaType.PRODUCE, -1.0, None),
        (QuotaType.PRODUCE, -1e30, None),
        (QuotaType.FETCH, math.nan, None),
        (QuotaType.FETCH, math.inf, None),
        (QuotaType.FETCH, 1e30, None),
        (QuotaType.FETCH, 2.0**63, str(2**63 - 1)),
        (QuotaType.CONNECTION, 2.0**31, None),
        (QuotaType.CONNECTION, 2.0**31 - 1, str(2**31 - 1)),
        (QuotaType.CONNECTION, 0.0, "0"),
        (QuotaType.REQUEST, math.nan, None),
        (QuotaType.REQUEST, -1.0, "-1.0"),
    ],
)
def test_whole_numbers_are_checked(quota_type: QuotaType, value: float, text: str | None) -> None:
    assert encode_quota(quota_type, value) == text


@pytest.mark.parametrize(
    ("text", "value"),
    [("5", 5.0), ("1048576.0", 1048576.0), ("1e3", 1000.0), (".5", 0.5), (" 7 ", 7.0), ("Infinity", math.inf)],
)
def test_numbers_of_other_writers_are_read(text: str, value: float) -> None:
    assert decode_quotas({"producer_byte_rate": text}) == {QuotaType.PRODUCE: value}


@pytest.mark.parametrize("text", ["", "x", "1_000", "nan", "NaN", "0x10", "\u0665", "1 2", "infinity"])
def test_texts_that_are_no_numbers_are_no_quotas(text: str) -> None:
    assert decode_quotas({"producer_byte_rate": text, "SCRAM-SHA-256": "salt=x"}) == {}
