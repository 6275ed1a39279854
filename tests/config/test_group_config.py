"""Settings of a group: the broker's defaults, its own values, and the broker's bounds."""

import pytest
from pybroker.config.config_error import ConfigError
from pybroker.config.group_config import GroupConfig, checked_overrides
from pybroker.config.load import load_config
from pybroker.config.offset_reset import reset_duration_ms
from pybroker.config.values import BadValueError

SESSION, INTERVAL = "consumer.session.timeout.ms", "consumer.heartbeat.interval.ms"
BOUNDS = "group.consumer.min.session.timeout.ms=20000\ngroup.consumer.session.timeout.ms=50000\n"


def test_group_has_the_brokers_values_where_it_has_none_of_its_own() -> None:
    group = GroupConfig.in_force(load_config(BOUNDS), {INTERVAL: "6000"})
    assert (group.int(SESSION), group.int(INTERVAL), group.overrides) == (50_000, 6_000, {INTERVAL: "6000"})
    assert group.string("share.isolation.level") == "read_uncommitted"


def test_stored_values_outside_the_brokers_bounds_count_as_the_bound_and_unusable_ones_as_unset() -> None:
    stored = {SESSION: "1000", INTERVAL: "99999", "share.session.timeout.ms": "soon", "x": "1"}
    group = GroupConfig.in_force(load_config(BOUNDS), stored)
    assert (group.int(SESSION), group.int(INTERVAL), group.int("share.session.timeout.ms")) == (20_000, 15_000, 45_000)
    assert set(group.overrides) == {SESSION, INTERVAL}


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"session.timeout.ms": "1"}, "session.timeout.ms: there is no such setting of groups"),
        ({SESSION: "long"}, f"{SESSION}=long: must be"),
        ({SESSION: "19999"}, f"{SESSION} must be greater than or equal to group.consumer.min.session.timeout.ms=20000"),
        ({SESSION: "60001"}, "group.consumer.max.session.timeout.ms=60000"),
        ({"share.record.lock.duration.ms": "14999"}, "group.share.min.record.lock.duration.ms=15000"),
    ],
)
def test_refused_value_of_a_group_is_named_with_what_is_allowed(overrides: dict[str, str], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        checked_overrides(load_config(BOUNDS), overrides)


def test_heartbeat_interval_of_a_group_must_be_below_its_session_timeout() -> None:
    config = load_config("group.consumer.min.session.timeout.ms=5000\n")
    checked_overrides(config, {SESSION: "5001"})
    with pytest.raises(ConfigError, match=f"{SESSION}=5000 must be greater than {INTERVAL}=5000"):
        checked_overrides(config, {SESSION: "5000"})


@pytest.mark.parametrize(
    ("text", "duration_ms"),
    [
        ("earliest", None),
        ("latest", None),
        ("by_duration:PT0S", 0),
        ("by_duration:P1DT2H3M4.5S", 93_784_500),
        ("by_duration:pt-1m120s", 60_000),
        ("by_duration:-PT-1S", 1_000),
    ],
)
def test_offset_reset_is_a_place_or_a_duration_before_now(text: str, duration_ms: int | None) -> None:
    assert reset_duration_ms(text) == duration_ms


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "PT1H",
        "by_duration:",
        "by_duration:P",
        "by_duration:PT",
        "by_duration:P1DT",
        "by_duration:P1Y",
        "by_duration:-PT1H",
    ],
)
def test_other_offset_resets_are_refused(text: str) -> None:
    with pytest.raises(BadValueError):
        reset_duration_ms(text)
