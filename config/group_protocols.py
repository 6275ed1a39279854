"""Which group protocols the settings ask for, and which assignors the consumer protocol offers (KIP-848)."""

from .config import Config
from .versions import RELEASES_TO_ANSWER_AS, release_to_answer_as

__all__ = ["asks_for_consumer_protocol", "asks_for_share_groups", "assignor_name"]

_FIRST_RELEASE = "4.0"

_PACKAGE = "org.apache.kafka.coordinator.group.assignor."
_ASSIGNORS = {"uniform": "uniform", "range": "range"}
_ASSIGNORS |= {f"{_PACKAGE}UniformAssignor": "uniform", f"{_PACKAGE}RangeAssignor": "range"}


def asks_for_consumer_protocol(config: Config) -> bool:
    """Whether the consumer protocol is served. In a cluster it is when ``group.version`` is 1, too.

    A broker that answers as a release before 4.0 serves it only if the setting is given.
    """
    if "consumer" not in config.list("group.coordinator.rebalance.protocols"):
        return False
    return config.is_given("group.coordinator.rebalance.protocols") or not _answers_as_older_release(config)


def _answers_as_older_release(config: Config) -> bool:
    given = config.optional_string("pybroker.as.version")
    if given is None:
        return False
    return RELEASES_TO_ANSWER_AS.index(release_to_answer_as(given)) < RELEASES_TO_ANSWER_AS.index(_FIRST_RELEASE)


def asks_for_share_groups(config: Config) -> bool:
    """Whether share groups are served (KIP-932). In a cluster they are when ``share.version`` is 1, too."""
    return "share" in config.list("group.coordinator.rebalance.protocols")


def assignor_name(text: str) -> str | None:
    """The name of an assignor of ``group.consumer.assignors``, given by it or by Kafka's class; None: unknown."""
    return _ASSIGNORS.get(text)
