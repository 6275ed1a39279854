"""Rates at which addresses may connect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.quotas.connection_rates import ConnectionRates, HeldConnections, canonical_address
from pybroker.broker.quotas.quota_entity import DEFAULT, Name
from pybroker.broker.quotas.sampled_rate import Windows

HOST = "10.0.0.1"


def rates_with(ip: Name, bound: float) -> ConnectionRates:
    rates = ConnectionRates(Windows())
    rates.set_limit(ip, bound)
    return rates


@given(st.integers(1, 50), st.lists(st.integers(0, 400), min_size=1, max_size=400))
def test_an_address_connects_at_its_rate_on_average(bound: int, pauses_ms: list[int]) -> None:
    rates, now_ms, served_ms = rates_with(HOST, float(bound)), 0, list[int]()
    for pause_ms in pauses_ms:
        now_ms += pause_ms
        hold_ms = rates.record(HOST, now_ms)
        assert 0 <= hold_ms <= 1_000
        if not hold_ms:
            served_ms.append(now_ms)
    for end_ms in served_ms:
        assert sum(end_ms - 10_000 < each <= end_ms for each in served_ms) <= bound * 10.999


def test_refused_connections_do_not_count() -> None:
    rates = rates_with(HOST, 1.0)
    assert [rates.record(HOST, 0) for _ in range(10)] == [0] * 10
    assert all(rates.record(HOST, now_ms) for now_ms in range(0, 9_000, 100))
    assert rates.record(HOST, 11_000) == 0


@pytest.mark.parametrize(
    ("own", "default", "is_held"),
    [(None, None, False), (None, 0.0, True), (5.0, 0.0, False), (0.0, None, True), (2.0**31 - 1, 0.0, False)],
)
def test_the_quota_of_an_address_goes_before_the_default(
    own: float | None, default: float | None, is_held: bool
) -> None:
    rates = ConnectionRates(Windows())
    rates.set_limit(HOST, own)
    rates.set_limit(DEFAULT, default)
    assert (rates.record(HOST, 0) > 0) == is_held


def test_a_removed_quota_holds_no_longer() -> None:
    rates = rates_with(HOST, 0.0)
    rates.set_limit(HOST, None)
    assert rates.record(HOST, 0) == 0


@pytest.mark.parametrize(
    ("host", "canonical"),
    [
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("0:0::1", "::1"),
        ("10.0.0.1", "10.0.0.1"),
        ("fe80::1%eth0", "fe80::1%eth0"),
        ("", ""),
    ],
)
def test_an_address_has_one_text(host: str, canonical: str) -> None:
    assert canonical_address(host) == canonical


def test_an_ipv4_client_of_an_ipv6_listener_has_the_quota_of_its_address() -> None:
    assert rates_with(HOST, 0.0).record("::ffff:10.0.0.1", 0) == 1_000


# -- held connections


@given(st.lists(st.integers(0, 100), max_size=40), st.integers(0, 10))
def test_every_held_connection_is_closed_once_and_too_many_early(times_ms: list[int], most: int) -> None:
    held: HeldConnections[int] = HeldConnections(most)
    early = []
    for number, until_ms in enumerate(times_ms):
        closed = held.hold(number, until_ms)
        if closed is not None:
            early.append(closed)
            assert times_ms[closed] == min(times_ms[each] for each in range(number + 1) if each not in early[:-1])
        assert len(held) <= most
    due = held.due(50)
    assert all(times_ms[each] <= 50 for each in due)
    assert held.next_ms is None or held.next_ms > 50
    assert sorted(early + due + held.due(100)) == list(range(len(times_ms)))
