"""The features in a response to ApiVersions (KIP-584)."""

from ....controller.features import LAST_TRANSACTION_VERSION, TRANSACTION_VERSION, FeatureLevels
from ....protocol.messages.api_versions import ApiVersionsResponse, FinalizedFeatureKey, SupportedFeatureKey

__all__ = ["add_feature_levels"]

_FIRST_WITH_LOWEST_FEATURE_0 = 4


def add_feature_levels(
    response: ApiVersionsResponse, features: FeatureLevels, api_version: int, *, is_offered: bool
) -> None:
    """Tell the level of ``transaction.version``, and which ones the brokers support if ``is_offered``."""
    response.finalized_features_epoch = features.epoch
    if features.transaction_version:
        level = features.transaction_version
        response.finalized_features = [
            FinalizedFeatureKey(name=TRANSACTION_VERSION, max_version_level=level, min_version_level=level)
        ]
    # Older clients cannot read a supported feature whose lowest version is 0 (KAFKA-17492).
    if is_offered and api_version >= _FIRST_WITH_LOWEST_FEATURE_0:
        response.supported_features = [
            SupportedFeatureKey(name=TRANSACTION_VERSION, min_version=0, max_version=LAST_TRANSACTION_VERSION)
        ]
