"""UpdateFeatures (KIP-584): change the level of a feature of the cluster. Refused.

Kafka supports features in KRaft mode only. In ZooKeeper mode it refuses every update; the error message depends on the
first fault of the update.

v1 kinds of updates in place of a flag, and validation only, on request (KIP-778).
"""

from collections.abc import Callable

from ....protocol.errors import ErrorCode, NotControllerError
from ....protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from ...requests.context import RequestContext

__all__ = ["UpdateFeatures"]


# Kafka's FeatureUpdate.UpgradeType
_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3
_KINDS = (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE)


class UpdateFeatures:
    """Handler. ``is_controller``: whether this broker is the controller."""

    def __init__(self, is_controller: Callable[[], bool]) -> None:
        self._is_controller = is_controller

    def __call__(self, context: RequestContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        """The first update counts for a feature that is named twice."""
        if not self._is_controller():
            raise NotControllerError()
        updates: dict[str, FeatureUpdateKey] = {}
        for update in request.feature_updates:
            updates.setdefault(update.feature, update)
        return UpdateFeaturesResponse(
            error_message=None,
            results=[
                UpdatableFeatureResult(
                    feature=feature,
                    error_code=ErrorCode.INVALID_REQUEST,
                    error_message=_why_refused(update, _kind_of(update, context.api_version)),
                )
                for feature, update in updates.items()
            ],
        )


def _kind_of(update: FeatureUpdateKey, version: int) -> int:
    if version == 0:
        return _SAFE_DOWNGRADE if update.allow_downgrade else _UPGRADE
    return update.upgrade_type


def _why_refused(update: FeatureUpdateKey, kind: int) -> str:
    level = update.max_version_level
    if not update.feature:
        return "Feature name can not be empty."
    if kind not in _KINDS:
        return "Received unknown upgrade type."
    if level < 1 and kind != _UPGRADE:
        return "Can not delete non-existing finalized feature."
    if level < 1:
        return (
            f"Can not provide versionLevel: {level} less than 1 without setting the SAFE downgradeType in the request."
        )
    return "Could not apply finalized feature update because the provided feature is not supported."
