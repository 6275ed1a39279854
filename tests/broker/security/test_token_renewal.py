"""Tests of the times at which a broker fetches its token anew."""

from hypothesis import assume, example, given
from hypothesis import strategies as st
from pybroker.broker.security.sasl.token_renewal import RenewalTimes, TokenRenewal, renewal_at_ms
from pybroker.client.oauth.own_token import OwnToken
from pybroker.protocol.client import BearerToken

HOUR_MS = 3_600_000
NOW_MS = 1_700_000_000_000
KAFKAS = RenewalTimes(0.8, 0.05, 60, 300, 100, 10_000)

lives_ms = st.integers(1, 10 * HOUR_MS)
ages_ms = st.integers(0, 10 * HOUR_MS)
shares = st.floats(0, 1, exclude_max=True)
# The values that Kafka's clients allow.
times_of_clients = st.builds(
    RenewalTimes, st.floats(0.5, 0.75), st.floats(0, 0.25), st.integers(0, 900), st.integers(0, 3600), st.just(100),
    st.just(10_000),
)  # fmt: skip


def token_of(begins_ms: int | None, ends_ms: int) -> OwnToken:
    return OwnToken(BearerToken("x.y.z"), "broker", begins_ms, ends_ms)


def java_refresh_ms(begins_ms: int, ends_ms: int, now_ms: int, times: RenewalTimes, share: float) -> int:
    """``ExpiringCredentialRefreshingLogin.refreshMs`` for a credential that has not expired, from its definition."""
    part = times.window_factor + times.window_jitter * share
    if ends_ms - now_ms < 1000 * (times.min_period_s + times.buffer_s):
        return now_ms + int((ends_ms - now_ms) * part)
    wanted = begins_ms + int((ends_ms - begins_ms) * part)
    if ends_ms - wanted < 1000 * times.buffer_s:
        return ends_ms - 1000 * times.buffer_s
    if wanted - now_ms < 1000 * times.min_period_s:
        return now_ms + 1000 * times.min_period_s
    return wanted


@given(lives_ms, ages_ms, times_of_clients, shares)
@example(HOUR_MS, 0, KAFKAS, 0.0)
@example(HOUR_MS, 0, RenewalTimes(0.8, 0.05, 60, 1800, 100, 10_000), 0.0)
@example(HOUR_MS, HOUR_MS // 2, RenewalTimes(0.5, 0.0, 60, 300, 100, 10_000), 0.0)
def test_token_is_renewed_when_kafka_would_renew_it(
    life_ms: int, age_ms: int, times: RenewalTimes, share: float
) -> None:
    assume(age_ms <= life_ms)
    begins_ms = NOW_MS - age_ms
    ends_ms = begins_ms + life_ms
    at_ms = renewal_at_ms(token_of(begins_ms, ends_ms), times, NOW_MS, share)
    assert at_ms == java_refresh_ms(begins_ms, ends_ms, NOW_MS, times, share)
    assert NOW_MS <= at_ms <= ends_ms


def test_token_of_an_hour_is_renewed_after_48_to_51_minutes() -> None:
    for share, minutes in ((0.0, 48), (0.5, 49.5), (0.999_999, 51)):
        at_ms = renewal_at_ms(token_of(NOW_MS, NOW_MS + HOUR_MS), KAFKAS, NOW_MS, share)
        assert abs(at_ms - NOW_MS - minutes * 60_000) < 10


def test_token_that_does_not_tell_its_beginning_begins_when_it_arrives() -> None:
    ends_ms = NOW_MS + HOUR_MS
    assert renewal_at_ms(token_of(None, ends_ms), KAFKAS, NOW_MS, 0.5) == renewal_at_ms(
        token_of(NOW_MS, ends_ms), KAFKAS, NOW_MS, 0.5
    )


@given(
    st.integers(NOW_MS - HOUR_MS, NOW_MS + HOUR_MS),
    st.builds(
        RenewalTimes, st.floats(allow_nan=False), st.floats(-1e9, 1e9), st.integers(-(2**15), 2**15 - 1),
        st.integers(-(2**15), 2**15 - 1), st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1),
    ),
    shares,
)  # fmt: skip
def test_no_settings_let_renewals_follow_each_other_at_once(ends_ms: int, times: RenewalTimes, share: float) -> None:
    renewal = TokenRenewal(times, NOW_MS, lambda: share)
    renewal.begins(NOW_MS)
    renewal.fetched(token_of(None, ends_ms), NOW_MS)
    assert renewal.due_at_ms >= NOW_MS + 1000
    renewal.failed(NOW_MS, is_final=False)
    assert renewal.due_at_ms > NOW_MS


def test_pauses_between_tries_double_until_the_row_has_taken_its_time() -> None:
    renewal, now_ms, tries = TokenRenewal(KAFKAS, NOW_MS, lambda: 0.5), NOW_MS, []
    for _ in range(10):
        assert renewal.due_at_ms == now_ms
        tries.append(now_ms - NOW_MS)
        renewal.begins(now_ms)
        renewal.failed(now_ms, is_final=False)
        now_ms = renewal.due_at_ms
    assert tries == [0, 100, 300, 700, 1500, 3100, 6300, 10_000, 20_000, 20_100]


def test_refused_credentials_are_tried_again_after_ten_seconds() -> None:
    renewal = TokenRenewal(KAFKAS, NOW_MS, lambda: 0.5)
    for now_ms in (NOW_MS, NOW_MS + 10_000):
        renewal.begins(now_ms)
        renewal.failed(now_ms, is_final=True)
        assert renewal.due_at_ms == now_ms + 10_000


def test_token_at_hand_stays_usable_until_it_ends_whatever_fails() -> None:
    renewal = TokenRenewal(KAFKAS, NOW_MS, lambda: 0.5)
    assert renewal.usable(NOW_MS) is None
    token = token_of(NOW_MS, NOW_MS + HOUR_MS)
    renewal.fetched(token, NOW_MS)
    renewal.failed(NOW_MS + 1, is_final=True)
    assert renewal.usable(NOW_MS + HOUR_MS - 1) == token
    assert renewal.usable(NOW_MS + HOUR_MS) is None
