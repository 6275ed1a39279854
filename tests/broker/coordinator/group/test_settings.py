"""GroupSettings: read from the broker's configuration, with Kafka's defaults."""

from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.config.load import load_config


def test_group_settings_come_from_the_broker_settings_of_the_same_meaning() -> None:
    config = load_config(
        "",
        {
            "group.min.session.timeout.ms": "1",
            "group.max.session.timeout.ms": "2",
            "group.max.size": "3",
            "group.initial.rebalance.delay.ms": "4",
            "offset.metadata.max.bytes": "5",
            "offsets.retention.minutes": "6",
            "offsets.retention.check.interval.ms": "7",
            "offsets.topic.compression.codec": "2",
        },
    )
    assert GroupSettings.from_config(config) == GroupSettings(
        1, 2, 3, 4, 5, 6 * 60_000, 7, 2, serves_consumer_groups=True
    )


def test_single_broker_has_the_defaults_of_kafka_3_9_but_no_initial_delay_and_consumer_groups() -> None:
    assert GroupSettings.from_config(load_config("", {})) == GroupSettings(
        initial_rebalance_delay_ms=0, serves_consumer_groups=True
    )
