"""The features in a response to ApiVersions (KIP-584)."""

from collections.abc import Mapping

from ....controller.features import LAST_LEVELS, TRANSACTION_VERSION, FeatureLevels
from ....protocol.messages.api_versions import ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey
from ...requests.group_features import GroupFeatures

__all__ = ["add_feature_levels", "has_levels"]

_FIRST_WITH_LOWEST_FEATURE_0 = 4


def add_feature_levels(
    response: ApiVersionsResponse,
    features: FeatureLevels,
    group_features: GroupFeatures,
    api_version: int,
    *,
    is_offered: bool,
) -> None:
    """Tell the levels of the features, and which ones the brokers support if ``is_offered``. ``group.version`` and
    ``share.version`` are features only where the settings ask for them."""
    response.finalized_features_epoch = features.epoch
    response.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name, level in _levels(features, group_features).items()
        if level
    ]
    # Older clients cannot read a supported feature whose lowest version is 0 (KAFKA-17492).
    if is_offered and api_version >= _FIRST_WITH_LOWEST_FEATURE_0:
        response.supported_features = [
            SupportedFeatureKey(name=name, min_version=0, max_version=last)
            for name, last in LAST_LEVELS.items()
            if name == TRANSACTION_VERSION or any(each.name == name and each.is_asked_for for each in group_features)
        ]


def has_levels(features: FeatureLevels, group_features: GroupFeatures) -> bool:
    """Whether a level has been raised that this broker follows."""
    return any(_levels(features, group_features).values())


def _levels(features: FeatureLevels, group_features: GroupFeatures) -> Mapping[str, int]:
    return {
        TRANSACTION_VERSION: features.transaction_version,
        **{feature.name: feature.level for feature in group_features},
    }
