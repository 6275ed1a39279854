"""The levels of ``group.version`` and ``share.version`` that this broker follows, and the APIs that they bring."""

from collections.abc import Awaitable, Collection
from typing import Any, NamedTuple

from ...config.config import Config
from ...controller.features import GROUP_VERSION, LAST_LEVELS, SHARE_VERSION, FeatureLevels, supported_features
from ...protocol.apis import ApiKey
from ...protocol.errors import UnsupportedVersionError
from .context import Handler, RequestContext
from .request_codec import HasRequestCodec, RequestCodec

__all__ = ["CONSUMER_GROUP_APIS", "SETTINGS_API", "SHARE_GROUP_APIS", "GroupFeature", "GroupFeatures", "WhileServed"]

SETTINGS_API = ApiKey.LIST_CLIENT_METRICS_RESOURCES
"""Lists the groups that have settings. Where the consumer protocol is not served, it is not listed, as by Kafka 3.9."""
CONSUMER_GROUP_APIS = {ApiKey.CONSUMER_GROUP_HEARTBEAT: 1, ApiKey.CONSUMER_GROUP_DESCRIBE: 1, SETTINGS_API: 1}
"""The APIs of the consumer protocol (KIP-848), with their last versions. Where it is not served, the others are listed
in version 0."""
SHARE_GROUP_APIS = (
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_DESCRIBE,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
)
"""The APIs of share groups (KIP-932) for clients."""
_SHARE_GROUP_APIS = frozenset(
    (
        *SHARE_GROUP_APIS,
        ApiKey.INITIALIZE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE,
        ApiKey.WRITE_SHARE_GROUP_STATE,
        ApiKey.DELETE_SHARE_GROUP_STATE,
        ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    )
)
"""With those between brokers. Where share groups are not served, they are not listed, as by Kafka 3.9."""
_HIDDEN = {
    (False, False): _SHARE_GROUP_APIS | {SETTINGS_API},
    (False, True): frozenset({SETTINGS_API}),
    (True, False): _SHARE_GROUP_APIS,
    (True, True): frozenset[ApiKey](),
}
"""By whether consumer groups, and share groups, are served."""


class GroupFeature:
    """The feature ``name`` of a group protocol. ``is_asked_for``: whether the settings name the protocol.

    A broker without a cluster then serves it. In a cluster all brokers do once the level of the feature is 1, so that
    no group moves to a coordinator that cannot read its records.
    """

    def __init__(self, levels: FeatureLevels, name: str, *, is_asked_for: bool, is_in_cluster: bool) -> None:
        self._levels = levels
        self._is_in_cluster = is_in_cluster
        self.name = name
        self.is_asked_for = is_asked_for

    @property
    def level(self) -> int:
        """0: the protocol is not served."""
        if not self.is_asked_for:
            return 0
        return self._levels.level(self.name) if self._is_in_cluster else LAST_LEVELS[self.name]

    @property
    def is_served(self) -> bool:
        """Whether the protocol is served."""
        return self.level > 0


class GroupFeatures(NamedTuple):
    """``consumer``: the consumer protocol (KIP-848). ``share``: share groups (KIP-932)."""

    consumer: GroupFeature
    share: GroupFeature

    @classmethod
    def of(cls, config: Config, levels: FeatureLevels) -> "GroupFeatures":
        """The features of a broker with these settings."""
        return cls.asked_for(levels, supported_features(config), is_in_cluster=not config.uses_embedded_store)

    @classmethod
    def asked_for(cls, levels: FeatureLevels, names: Collection[str], *, is_in_cluster: bool) -> "GroupFeatures":
        """The features of a broker whose settings ask for the protocols of those in ``names``."""
        return cls(
            *(
                GroupFeature(levels, name, is_asked_for=name in names, is_in_cluster=is_in_cluster)
                for name in (GROUP_VERSION, SHARE_VERSION)
            )
        )

    @property
    def hidden_apis(self) -> frozenset[ApiKey]:
        """The APIs that are not listed because their protocol is not served."""
        return _HIDDEN[self.consumer.is_served, self.share.is_served]


class WhileServed:
    """A handler: calls ``handler`` while the protocol of ``feature`` is served; UnsupportedVersionError otherwise."""

    def __init__(self, handler: Handler, feature: GroupFeature) -> None:
        self._handler = handler
        self._feature = feature

    def __call__(self, context: RequestContext, request: Any) -> Any | Awaitable[Any]:
        if not self._feature.is_served:
            raise UnsupportedVersionError()
        return self._handler(context, request)

    def request_codec(self, version: int) -> RequestCodec | None:
        """See `HasRequestCodec`."""
        handler: object = self._handler
        return handler.request_codec(version) if isinstance(handler, HasRequestCodec) else None
