"""Which group protocols the settings ask for, and which assignors the consumer protocol offers (KIP-848)."""

from .config import Config
from .versions import RELEASES_TO_ANSWER_AS, release_to_answer_as

__all__ = ["asks_for_consumer_protocol", "asks_for_share_groups", "assignor_name"]

_FIRST_WITH_CONSUMER_GROUPS = "4.0"
_FIRST_WITH_SHARE_GROUPS = "4.2"
"""Releases 4.0 and 4.1 serve share groups only on request."""

_PACKAGE = "org.apache.kafka.coordinator.group.assignor."
_ASSIGNORS = {"uniform": "uniform", "range": "range"}
_ASSIGNORS |= {f"{_PACKAGE}UniformAssignor": "uniform", f"{_PACKAGE}RangeAssignor": "range"}


def asks_for_consumer_protocol(config: Config) -> bool:
    """Whether the consumer protocol is served. In a cluster it is when ``group.version`` is 1, too.

    A broker that answers as a release before 4.0 serves it only if the setting is given.
    """
    return _asks_for(config, "consumer", _FIRST_WITH_CONSUMER_GROUPS)


def asks_for_share_groups(config: Config) -> bool:
    """Whether share groups are served (KIP-932). In a cluster they are when ``share.version`` is 1, too.

    A broker that answers as a release before 4.2 serves them only if the setting is given.
    """
    return _asks_for(config, "share", _FIRST_WITH_SHARE_GROUPS)


def _asks_for(config: Config, protocol: str, first_release: str) -> bool:
    if protocol not in config.list("group.coordinator.rebalance.protocols"):
        return False
    release = config.optional_string("pybroker.as.version")
    if release is None or config.is_given("group.coordinator.rebalance.protocols"):
        return True
    return RELEASES_TO_ANSWER_AS.index(release_to_answer_as(release)) >= RELEASES_TO_ANSWER_AS.index(first_release)


def assignor_name(text: str) -> str | None:
    """The name of an assignor of ``group.consumer.assignors``, given by it or by Kafka's class; None: unknown."""
    return _ASSIGNORS.get(text)
