"""Rates, buckets, limits and throttle times, compared with results of Kafka's classes.

``tests/reference/quotas/kafka_3_9_1.json`` was printed by Rate, TokenBucket, ClientQuotaManager and
ClientRequestQuotaManager of Apache Kafka 3.9.1.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from pybroker.broker.quotas.client_quotas import ClientQuotas
from pybroker.broker.quotas.quota_entity import DEFAULT, Name, QuotaEntity
from pybroker.broker.quotas.quota_limits import QuotaLimits
from pybroker.broker.quotas.quota_type import QuotaType
from pybroker.broker.quotas.sampled_rate import SampledRate, Windows
from pybroker.broker.quotas.throttle_time import LONGEST_MS
from pybroker.broker.quotas.token_bucket import TokenBucket

KAFKAS = json.loads((Path(__file__).resolve().parents[2] / "reference" / "quotas" / "kafka_3_9_1.json").read_text())


@pytest.mark.parametrize("run", KAFKAS["rates"])
def test_rate_is_kafkas(run: dict[str, Any]) -> None:
    rate, windows, now_ms = SampledRate(), Windows(run["windows"], run["window_ms"]), 0
    for pause_ms, value, per_second, window_ms in run["steps"]:
        now_ms += pause_ms
        rate.record(value, now_ms, windows)
        measured = rate.measure(now_ms, windows)
        assert measured.per_second == pytest.approx(per_second)
        assert measured.window_ms == window_ms


@pytest.mark.parametrize("run", KAFKAS["buckets"])
def test_tokens_are_kafkas(run: dict[str, Any]) -> None:
    bucket, windows, now_ms = TokenBucket(), Windows(run["windows"]), 0
    for pause_ms, value, bound, tokens in run["steps"]:
        now_ms += pause_ms
        bucket.take(value, bound, now_ms, windows)
        assert bucket.tokens(bound, now_ms, windows) == pytest.approx(tokens)


def name(text: str | None) -> Name | None:
    return DEFAULT if text == "<default>" else text


@pytest.mark.parametrize("run", KAFKAS["limits"])
def test_the_limit_of_a_client_and_the_bucket_it_shares_are_kafkas(run: dict[str, Any]) -> None:
    limits = QuotaLimits()
    for user, client_id, bound in run["changes"]:
        limits.set(QuotaEntity(name(user), name(client_id)), bound)
    for user, client_id, found in run["found"]:
        limit = limits.find(user, client_id)
        assert (None if limit is None else [*limit.bucket, limit.bound]) == found


@pytest.mark.parametrize(("bound", "value", "bytes_ms", "time_ms", "most"), KAFKAS["throttles"])
def test_throttle_times_are_kafkas_except_where_those_overflow(
    bound: float, value: float, bytes_ms: int, time_ms: int, most: float
) -> None:
    quotas = ClientQuotas(Windows(), Windows())
    quotas.set_limits(QuotaEntity("ann"), {QuotaType.FETCH: bound, QuotaType.REQUEST: bound})
    overflows = bytes_ms < 0 <= bound
    expected_ms = LONGEST_MS if overflows else max(bytes_ms, 0)
    assert quotas.rates[QuotaType.FETCH].record("ann", "c", value, 0) == expected_ms
    assert quotas.rates[QuotaType.REQUEST].record("ann", "c", value, 0) == max(time_ms, 0)
    assert quotas.rates[QuotaType.FETCH].most_at_once("ann", "c") == most
