"""Which group protocols the settings ask for, and which assignors the consumer protocol offers (KIP-848)."""

from .config import Config

__all__ = ["asks_for_consumer_protocol", "asks_for_share_groups", "assignor_name"]

_PACKAGE = "org.apache.kafka.coordinator.group.assignor."
_ASSIGNORS = {"uniform": "uniform", "range": "range"}
_ASSIGNORS |= {f"{_PACKAGE}UniformAssignor": "uniform", f"{_PACKAGE}RangeAssignor": "range"}


def asks_for_consumer_protocol(config: Config) -> bool:
    """Whether the consumer protocol is served. In a cluster it is when ``group.version`` is 1, too."""
    return "consumer" in config.list("group.coordinator.rebalance.protocols")


def asks_for_share_groups(config: Config) -> bool:
    """Whether share groups are served (KIP-932)."""
    return "share" in config.list("group.coordinator.rebalance.protocols")


def assignor_name(text: str) -> str | None:
    """The name of an assignor of ``group.consumer.assignors``, given by it or by Kafka's class; None: unknown."""
    return _ASSIGNORS.get(text)
