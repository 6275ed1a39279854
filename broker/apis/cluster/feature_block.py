"""The features in a response to ApiVersions (KIP-584)."""

from collections.abc import Mapping

from ....controller.features import (
    GROUP_VERSION,
    LAST_GROUP_VERSION,
    LAST_TRANSACTION_VERSION,
    TRANSACTION_VERSION,
    FeatureLevels,
)
from ....protocol.messages.api_versions import ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey
from ...requests.group_version import GroupVersion

__all__ = ["add_feature_levels"]

_FIRST_WITH_LOWEST_FEATURE_0 = 4


def add_feature_levels(
    response: ApiVersionsResponse,
    features: FeatureLevels,
    group_version: GroupVersion,
    api_version: int,
    *,
    is_offered: bool,
) -> None:
    """Tell the levels of ``transaction.version`` and ``group.version``, and which ones the brokers support if
    ``is_offered``. The latter is a feature only where the settings ask for it."""
    response.finalized_features_epoch = features.epoch
    levels = {TRANSACTION_VERSION: features.transaction_version, GROUP_VERSION: group_version.level}
    response.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in levels.items()
        if level
    ]
    # Older clients cannot read a supported feature whose lowest version is 0 (KAFKA-17492).
    if is_offered and api_version >= _FIRST_WITH_LOWEST_FEATURE_0:
        response.supported_features = [
            SupportedFeatureKey(name=name, min_version=0, max_version=last)
            for name, last in _supported(group_version).items()
        ]


def _supported(group_version: GroupVersion) -> Mapping[str, int]:
    """The last level of each feature."""
    last = {TRANSACTION_VERSION: LAST_TRANSACTION_VERSION}
    return {**last, GROUP_VERSION: LAST_GROUP_VERSION} if group_version.is_asked_for else last
