"""The counters of clients: throttle times, topic changes and memory."""

from typing import NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pybroker.broker.quotas.client_quotas import ClientQuotas
from pybroker.broker.quotas.quota_entity import DEFAULT, QuotaEntity
from pybroker.broker.quotas.quota_type import CLIENT_TYPES, QuotaType
from pybroker.broker.quotas.recently_used import RecentlyUsed
from pybroker.broker.quotas.sampled_rate import SampledRate, Windows
from pybroker.broker.quotas.throttle_time import throttle_time_ms


class User(NamedTuple):
    name: str


ANN, BOB = User("ann"), User("bob")
PRODUCE, FETCH, REQUEST, MUTATION = CLIENT_TYPES


def quotas_of(entity: QuotaEntity, quota_type: QuotaType, bound: float, most_counters: int = 100) -> ClientQuotas:
    quotas = ClientQuotas(Windows(), Windows(), most_counters)
    quotas.set_limits(entity, {quota_type: bound})
    return quotas


def test_a_client_without_a_quota_is_never_throttled() -> None:
    quotas = quotas_of(QuotaEntity("bob"), PRODUCE, 1.0)
    assert quotas.rates[PRODUCE].record(ANN.name, "c", 1e12, 0) == 0
    assert quotas.rates[FETCH].record(BOB.name, "c", 1e12, 0) == 0


@given(
    st.lists(
        st.tuples(st.integers(0, 900), st.sampled_from([ANN, BOB]), st.sampled_from(["c", "d"]), st.integers(-50, 900)),
        max_size=60,
    ),
    st.sampled_from([Windows(), Windows(1, 1000), Windows(2, 300)]),
)
def test_each_user_has_the_throttle_time_of_the_own_bytes(
    steps: list[tuple[int, User, str, int]], windows: Windows
) -> None:
    """The clients of a user share a quota. Most values are added without a measurement."""
    quotas, now_ms = ClientQuotas(windows, windows), 0
    quotas.set_limits(QuotaEntity(DEFAULT), {PRODUCE: 100.0})
    rates = {ANN: SampledRate(), BOB: SampledRate()}
    for elapsed_ms, user, client_id, size_bytes in steps:
        now_ms += elapsed_ms
        rates[user].record(size_bytes, now_ms, windows)
        expected = throttle_time_ms(rates[user].measure(now_ms, windows), 100.0)
        assert quotas.rates[PRODUCE].record(user.name, client_id, size_bytes, now_ms) == expected
        for each, rate in rates.items():
            later_ms = now_ms + elapsed_ms
            expected = throttle_time_ms(rate.measure(later_ms, windows), 100.0)
            assert quotas.rates[PRODUCE].current_ms(each.name, client_id, later_ms) == expected
        now_ms += elapsed_ms


@example([(0, ANN, 2_000), *[(4_000, BOB, 0)] * 8, (0, ANN, 1_100)])  # a long pause, and a short one much later
@given(st.lists(st.tuples(st.integers(0, 4_000), st.sampled_from([ANN, BOB]), st.integers(0, 2_000)), max_size=40))
def test_use_that_is_told_is_that_of_the_last_windows_and_disturbs_nothing(steps: list[tuple[int, User, int]]) -> None:
    windows, now_ms = Windows(), 0
    quota, twin = (quotas_of(QuotaEntity(DEFAULT), PRODUCE, 100.0).rates[PRODUCE] for _ in range(2))
    rates = {ANN: SampledRate(), BOB: SampledRate()}
    pauses: dict[User, list[tuple[int, int]]] = {ANN: [], BOB: []}
    for elapsed_ms, user, size_bytes in steps:
        now_ms += elapsed_ms
        rates[user].record(size_bytes, now_ms, windows)
        throttle_ms = quota.record(user.name, "c", size_bytes, now_ms)
        assert throttle_ms == twin.record(user.name, "c", size_bytes, now_ms)
        if throttle_ms and size_bytes:
            pauses[user].append((now_ms, throttle_ms))
        told = {use.bucket[0]: use for use in quota.uses(now_ms)}
        assert set(told) == {each.name for each, rate in rates.items() if not rate.is_idle(now_ms, windows)}
        for each, rate in rates.items():
            if each.name in told:
                assert told[each.name].per_second == rate.measure(now_ms, windows).per_second
                recent = [pause for at_ms, pause in pauses[each] if now_ms - at_ms < 2 * windows.span_ms]
                mean_ms = told[each.name].throttle_ms
                assert (mean_ms > 0) is any(now_ms - at_ms < windows.span_ms for at_ms, _ in pauses[each])
                assert mean_ms == 0 or min(recent) <= mean_ms <= max(recent)


def test_lower_limit_throttles_for_values_recorded_before_it() -> None:
    quotas = quotas_of(QuotaEntity("ann"), PRODUCE, 1e9)
    for now_ms in (0, 20_000):
        assert quotas.rates[PRODUCE].record(ANN.name, "c", 5_000, now_ms) == 0
        assert quotas.rates[PRODUCE].current_ms(ANN.name, "c", now_ms) == 0
    quotas.set_limits(QuotaEntity("ann"), {PRODUCE: 10.0})
    assert quotas.rates[PRODUCE].current_ms(ANN.name, "c", 20_001) > 0


def test_bytes_and_time_are_throttled_as_long_as_kafka_does() -> None:
    quotas = quotas_of(QuotaEntity("ann"), FETCH, 100.0)
    assert quotas.rates[FETCH].record(ANN.name, None, 1_000, 7) == 0
    assert quotas.rates[FETCH].record(ANN.name, None, 10_000, 7) == 100_000
    quotas.set_limits(QuotaEntity("ann"), {REQUEST: 1.0})
    assert quotas.rates[REQUEST].record(ANN.name, None, 1e6, 7) == 1_000, "one window at most"


def test_a_fetch_taken_back_leaves_the_quota_as_it_was() -> None:
    quotas = quotas_of(QuotaEntity("ann"), FETCH, 100.0)
    assert quotas.rates[FETCH].record(ANN.name, "c", 900, 0) == 0
    throttled_ms = quotas.rates[FETCH].record(ANN.name, "c", 5_000, 10)
    quotas.rates[FETCH].record(ANN.name, "c", -5_000, 10)
    assert throttled_ms > 0 == quotas.rates[FETCH].record(ANN.name, "c", 100, 10)


def test_a_single_fetch_may_take_the_bytes_of_all_complete_windows() -> None:
    quotas = quotas_of(QuotaEntity("ann"), FETCH, 100.0)
    most = quotas.rates[FETCH].most_at_once(ANN.name, "c")
    assert most == 1_000
    assert quotas.rates[FETCH].most_at_once(BOB.name, "c") is None
    assert quotas.rates[FETCH].record(ANN.name, "c", most, 0) == 0
    assert quotas.rates[FETCH].record(ANN.name, "c", 1, 0) > 0


def test_a_changed_quota_is_in_force_at_once_for_bytes_recorded_before() -> None:
    quotas = quotas_of(QuotaEntity("ann"), PRODUCE, 100.0)
    assert quotas.rates[PRODUCE].record(ANN.name, "c", 1_000, 0) == 0
    quotas.set_limits(QuotaEntity("ann"), {PRODUCE: 50.0})
    assert quotas.rates[PRODUCE].record(ANN.name, "c", 0, 0) == 10_000
    quotas.set_limits(QuotaEntity("ann"), {})
    assert quotas.rates[PRODUCE].record(ANN.name, "c", 0, 0) == 0


def test_quotas_know_whether_there_is_anything_to_measure() -> None:
    quotas = ClientQuotas(Windows(), Windows())
    assert (quotas.has_limits, quotas.rates[REQUEST].has_limits) == (False, False)
    quotas.set_limits(QuotaEntity("ann"), {PRODUCE: 1.0})
    assert (quotas.has_limits, quotas.rates[REQUEST].has_limits) == (True, False)
    quotas.set_limits(QuotaEntity("ann"), {REQUEST: 1.0})
    assert (quotas.has_limits, quotas.rates[REQUEST].has_limits) == (True, True)
    quotas.set_limits(QuotaEntity("ann"), {})
    assert (quotas.has_limits, quotas.rates[REQUEST].has_limits) == (False, False)


# -- topic changes


def test_a_strict_quota_refuses_changes_while_the_bucket_is_in_debt() -> None:
    quotas = quotas_of(QuotaEntity("ann"), MUTATION, 2.0)
    first = quotas.mutation_quota(ANN, "c", is_strict=True)
    assert first.take(30, 0), "the bucket holds 22, so a single change may exceed it"
    assert first.throttle_ms(0) == 0
    assert not first.take(1, 0)
    assert first.throttle_ms(0) == 4_000
    assert first.throttle_ms(1_500) == 2_500
    second = quotas.mutation_quota(ANN, "c", is_strict=True)
    assert not second.take(1, 3_999)
    assert second.take(1, 4_000)


def test_a_permissive_quota_permits_every_change_and_delays_the_client() -> None:
    quotas = quotas_of(QuotaEntity("ann"), MUTATION, 2.0)
    quota = quotas.mutation_quota(ANN, "c", is_strict=False)
    assert quota.take(22, 0)
    assert quota.throttle_ms(0) == 0
    assert quota.take(8, 0)
    assert quota.take(2, 0)
    assert (quota.throttle_ms(0), quota.throttle_ms(6_000)) == (5_000, 0)


@pytest.mark.parametrize("is_strict", [True, False])
def test_changes_without_a_quota_are_permitted(is_strict: bool) -> None:
    quota = quotas_of(QuotaEntity("bob"), MUTATION, 0.0).mutation_quota(ANN, None, is_strict=is_strict)
    assert quota.take(10**9, 0)
    assert quota.throttle_ms(0) == 0


# -- memory


def test_counters_of_idle_clients_are_dropped() -> None:
    quotas = quotas_of(QuotaEntity(None, DEFAULT), PRODUCE, 100.0, most_counters=10**6)
    for each in range(1_000):
        quotas.rates[PRODUCE].record(ANN.name, f"c{each}", 1, each * 1_000)
    assert len(quotas.rates[PRODUCE]._rates) <= Windows().count + 1


def test_long_client_ids_are_not_kept_and_not_confused() -> None:
    quotas = quotas_of(QuotaEntity(None, DEFAULT), PRODUCE, 100.0)
    first, second = "x" * 30_000 + "1", "x" * 30_000 + "2"
    assert quotas.rates[PRODUCE].record(ANN.name, first, 2_000, 0) > 0
    assert quotas.rates[PRODUCE].record(ANN.name, second, 0, 0) == 0
    assert quotas.rates[PRODUCE].record(ANN.name, first, 0, 0) > 0
    kept = [len(user) + len(client_id) for user, client_id in quotas.rates[PRODUCE]._rates._counters]
    assert len(kept) == 2
    assert max(kept) < 130


def test_a_client_that_invents_names_costs_bounded_memory_and_frees_no_other_client() -> None:
    quotas = quotas_of(QuotaEntity(None, DEFAULT), PRODUCE, 100.0, most_counters=50)
    quotas.rates[PRODUCE].record(ANN.name, "steady", 2_000, 0)
    for each in range(1_000):
        quotas.rates[PRODUCE].record(ANN.name, f"c{each}", 1, 0)
        if each % 20 == 0:
            assert quotas.rates[PRODUCE].record(ANN.name, "steady", 0, 0) == 10_000
    assert len(quotas.rates[PRODUCE]._rates) == 50


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 5)), max_size=60), st.integers(1, 5))
def test_a_counter_is_dropped_only_when_idle_or_when_too_many_others_were_used_since(
    steps: list[tuple[int, int]], most: int
) -> None:
    """A counter is the list of times at which it was used; it is idle ten ticks after the last one."""
    counters: RecentlyUsed[int, list[int]] = RecentlyUsed(list, lambda used, now: now - used[-1] >= 10, most)
    history: list[tuple[int, int]] = []
    now = 0
    for key, elapsed in steps:
        now += elapsed
        counter = counters.get(key, now)
        earlier = [place for place, (used, _) in enumerate(history) if used == key]
        if earlier and now - history[earlier[-1]][1] < 10:
            others = {used for used, _ in history[earlier[-1] + 1 :]}
            assert counter or len(others) >= most
        counter.append(now)
        history.append((key, now))
        assert len(counters) <= most
