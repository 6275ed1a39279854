"""The topics of a small cluster have as many replicas as it has brokers, three at most."""

import pytest
from pybroker.broker.library.cluster.copies import copies_in

PROTOCOLS = "group.coordinator.rebalance.protocols"
STATE_TOPIC = "share.coordinator.state.topic"


@pytest.mark.parametrize(("brokers", "factor", "min_isr"), [(1, "1", "1"), (2, "2", "1"), (3, "3", "2"), (5, "3", "2")])
def test_internal_topics_fit_into_a_cluster_of_few_brokers(brokers: int, factor: str, min_isr: str) -> None:
    settings = copies_in(brokers, {PROTOCOLS: "classic,share"})
    for name in ("default", "offsets.topic", "transaction.state.log", STATE_TOPIC):
        assert settings[f"{name}.replication.factor"] == factor
    for name in ("min.insync.replicas", "transaction.state.log.min.isr", f"{STATE_TOPIC}.min.isr"):
        assert settings[name] == min_isr


def test_state_topic_of_share_groups_has_no_settings_where_share_groups_are_not_served() -> None:
    assert not any(name.startswith(STATE_TOPIC) for name in copies_in(2, {PROTOCOLS: "classic,consumer"}))
