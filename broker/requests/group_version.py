"""The level of ``group.version`` that this broker follows: 1 where it serves the consumer protocol (KIP-848)."""

from ...config.config import Config
from ...config.group_protocols import asks_for_consumer_protocol
from ...controller.features import LAST_GROUP_VERSION, FeatureLevels
from ...protocol.apis import ApiKey

__all__ = ["CONSUMER_GROUP_APIS", "SETTINGS_API", "GroupVersion"]

SETTINGS_API = ApiKey.LIST_CLIENT_METRICS_RESOURCES
"""Lists the groups that have settings. Where the protocol is not served, it is not listed, as by Kafka 3.9."""
CONSUMER_GROUP_APIS = {ApiKey.CONSUMER_GROUP_HEARTBEAT: 1, ApiKey.CONSUMER_GROUP_DESCRIBE: 1, SETTINGS_API: 1}
"""The APIs of the protocol, with their last versions. Where it is not served, the others are listed in version 0."""


class GroupVersion:
    """``is_asked_for``: whether the settings name the protocol.

    A broker without a cluster then serves it. In a cluster all brokers do once the level of the feature is 1, so that
    no group moves to a coordinator that cannot read its records.
    """

    def __init__(self, features: FeatureLevels, *, is_asked_for: bool, is_in_cluster: bool) -> None:
        self._features = features
        self._is_in_cluster = is_in_cluster
        self.is_asked_for = is_asked_for

    @classmethod
    def of(cls, config: Config, features: FeatureLevels) -> "GroupVersion":
        """The level for a broker with these settings."""
        is_asked_for = asks_for_consumer_protocol(config)
        return cls(features, is_asked_for=is_asked_for, is_in_cluster=not config.uses_embedded_store)

    @property
    def level(self) -> int:
        """0: the consumer protocol is not served."""
        if not self.is_asked_for:
            return 0
        return self._features.group_version if self._is_in_cluster else LAST_GROUP_VERSION
