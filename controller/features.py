"""Features of the cluster (KIP-584): the levels that every broker follows, and the rules for changing them.

The node /feature has the levels; its version is their epoch. A level of 0 has no entry. Kafka 3.9 supports no feature,
and a broker of it stops when it finds a level there.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple

from ..config.config import Config
from ..config.group_protocols import asks_for_consumer_protocol, asks_for_share_groups
from .tree import znodes
from .tree.config_tree import read_watched
from .tree.metadata_store import MetadataStore, MetadataStoreError, Watch, WatchEvent
from .tree.znodes import BrokerInfo, Features, FeatureStatus, ZnodeDecodeError

__all__ = [
    "GROUP_VERSION",
    "LAST_LEVELS",
    "SHARE_VERSION",
    "TRANSACTION_VERSION",
    "FeatureLevels",
    "FeatureUpdate",
    "UpgradeType",
    "levels_in",
    "registered_features",
    "supported_features",
    "why_refused",
]

logger = logging.getLogger(__name__)

TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
"""From level 1 on brokers serve the consumer protocol (KIP-848)."""
SHARE_VERSION = "share.version"
"""From level 1 on brokers serve share groups (KIP-932)."""
LAST_LEVELS: Mapping[str, int] = {TRANSACTION_VERSION: 2, GROUP_VERSION: 1, SHARE_VERSION: 1}
_ASKED_FOR: Mapping[str, Callable[[Config], bool]] = {
    GROUP_VERSION: asks_for_consumer_protocol,
    SHARE_VERSION: asks_for_share_groups,
}
"""Features that a broker supports only where its settings name their group protocol."""


class UpgradeType(IntEnum):
    """Kafka's FeatureUpdate.UpgradeType. Each of the downgrades allows a lower level."""

    UNKNOWN = 0
    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """The level that a client wants for a feature."""

    level: int
    upgrade_type: UpgradeType
    feature: str = TRANSACTION_VERSION


def supported_features(config: Config) -> Sequence[str]:
    """The features of a broker with these settings.

    The feature of a group protocol is among them only where the protocol is asked for, so that its level can be raised
    only when every broker of the cluster serves the protocol.
    """
    return [name for name in LAST_LEVELS if name not in _ASKED_FOR or _ASKED_FOR[name](config)]


def registered_features(config: Config) -> Mapping[str, Mapping[str, int]]:
    """The features in the registration of a broker with these settings.

    Old Kafka, such as 3.4, cannot read a lowest version of 0.
    """
    return {name: {"min_version": 1, "max_version": LAST_LEVELS[name]} for name in supported_features(config)}


def why_refused(update: FeatureUpdate, current_level: int, brokers: Iterable[BrokerInfo]) -> str | None:
    """Why the level cannot be changed, in the words and the order of Kafka's FeatureControlManager; None: it can.

    ``brokers``: all that are registered.
    """
    if update.upgrade_type is UpgradeType.UNKNOWN:
        return "The controller does not support the given upgrade type."
    if update.level < 0:
        return "A feature version cannot be less than 0."
    for broker in brokers:
        highest = broker.features.get(update.feature, {}).get("max_version", 0)
        if update.level > highest:
            which = "does not support this feature." if highest == 0 else f"only supports versions 0-{highest}"
            return f"Broker {broker.broker_id} {which}"
    is_upgrade = update.upgrade_type is UpgradeType.UPGRADE
    if update.level < current_level and is_upgrade:
        return (
            "Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe "
            "downgrade."
        )
    return "Can't downgrade to a newer version." if update.level > current_level and not is_upgrade else None


class FeatureLevels:
    """The levels as this broker knows them. `ConfigChanges` calls `read` whenever they may have changed.

    ``epoch``: the version of the node. ``levels``: those in the node. Listeners are called when a level of
    `LAST_LEVELS` has changed since the first `read`.
    """

    def __init__(self, store: MetadataStore) -> None:
        self._store = store
        self._is_current = False
        self._has_read = False
        self._listeners: list[Callable[[], None]] = []
        self.epoch = 0
        self.levels: Mapping[str, int] = {}

    def level(self, feature: str) -> int:
        """The level of one feature."""
        return self.levels.get(feature, 0)

    @property
    def transaction_version(self) -> int:
        """The level of ``transaction.version``."""
        return self.level(TRANSACTION_VERSION)

    def on_change(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` after each change."""
        self._listeners.append(listener)

    def outdated(self) -> None:
        """The watch may be lost: the next `read` reads the node."""
        self._is_current = False

    async def read(self, tell: Watch) -> None:
        """Read the node unless it is unchanged since the last call. ``tell`` is called when it changes."""
        if self._is_current:
            return
        self._is_current = True

        def changed(event: WatchEvent) -> None:
            self._is_current = False
            tell(event)

        try:
            node = await read_watched(self._store, znodes.FEATURE_PATH, changed)
        except MetadataStoreError:
            self._is_current = False
            raise
        if node is not None:
            data, stat = node
            self._take(levels_in(data), stat.version)

    def _take(self, levels: Mapping[str, int], epoch: int) -> None:
        before = {name: self.level(name) for name in LAST_LEVELS}
        self.epoch = epoch
        self.levels = levels
        changed = [name for name, level in before.items() if self.level(name) != level and self._has_read]
        self._has_read = True
        for name in changed:
            logger.info("%s is %d now", name, self.level(name))
        if changed:
            for listener in self._listeners:
                listener()


def levels_in(data: bytes) -> Mapping[str, int]:
    """The levels in the node. None are in force when the node is disabled or cannot be read, as in Kafka."""
    try:
        features = Features.decode(data)
    except ZnodeDecodeError as error:
        logger.error("no features are in force: %s", error)
        return {}
    return features.levels if features.status is FeatureStatus.ENABLED else {}
