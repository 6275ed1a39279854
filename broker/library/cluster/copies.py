"""How many replicas topics have in a cluster of few brokers, and how many of them must be in sync."""

from collections.abc import Mapping

__all__ = ["copies_in"]

_MOST_COPIES = 3


def copies_in(broker_count: int, settings: Mapping[str, object]) -> Mapping[str, str]:
    """The settings of each broker. ``settings``: those given; they decide whether share groups are served."""
    copies = min(broker_count, _MOST_COPIES)
    factor, min_isr = str(copies), str(max(copies - 1, 1))
    copied = {
        "default.replication.factor": factor,
        "offsets.topic.replication.factor": factor,
        "transaction.state.log.replication.factor": factor,
        "min.insync.replicas": min_isr,
        "transaction.state.log.min.isr": min_isr,
    }
    if "share" in str(settings.get("group.coordinator.rebalance.protocols", "")):
        copied["share.coordinator.state.topic.replication.factor"] = factor
        copied["share.coordinator.state.topic.min.isr"] = min_isr
    return copied
