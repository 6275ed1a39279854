"""UpdateFeatures (KIP-584): change the level of a feature of the cluster.

There is one feature, ``transaction.version``; its errors are those of Kafka 4. Updates of other features are refused as
by Kafka 3.9 in ZooKeeper mode; the error message depends on the first fault of the update.

v1 kinds of updates in place of a flag, and validation only, on request (KIP-778).
"""

from collections.abc import Awaitable, Callable

from ....base.acls import AclOperation
from ....controller.controller import Controller
from ....controller.features import TRANSACTION_VERSION, FeatureUpdate, UpgradeType
from ....protocol.errors import ErrorCode, FeatureUpdateFailedError, NotControllerError
from ....protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from ...requests.context import RequestContext

__all__ = ["UpdateFeatures"]


class UpdateFeatures:
    """Handler. ``caught_up`` waits until this broker follows the changes written so far."""

    def __init__(self, controller: Controller, caught_up: Callable[[], Awaitable[None]]) -> None:
        self._controller = controller
        self._caught_up = caught_up

    async def __call__(self, context: RequestContext, request: UpdateFeaturesRequest) -> UpdateFeaturesResponse:
        """The first update counts for a feature that is named twice."""
        context.require_on_cluster(AclOperation.ALTER)
        if not self._controller.is_active:
            raise NotControllerError()
        updates: dict[str, FeatureUpdateKey] = {}
        for update in request.feature_updates:
            updates.setdefault(update.feature, update)
        results = [
            await self._update(update, _kind_of(update, context.api_version), validate_only=request.validate_only)
            for update in updates.values()
        ]
        return UpdateFeaturesResponse(error_message=None, results=results)

    async def _update(
        self, update: FeatureUpdateKey, kind: UpgradeType, *, validate_only: bool
    ) -> UpdatableFeatureResult:
        feature, level = update.feature, update.max_version_level
        if feature != TRANSACTION_VERSION:
            return _result(feature, ErrorCode.INVALID_REQUEST, _why_refused(update, kind))
        try:
            reason = await self._controller.update_transaction_version(
                FeatureUpdate(level, kind), validate_only=validate_only
            )
        except FeatureUpdateFailedError as error:
            return _result(feature, error.code, error.message)
        if reason is not None:
            message = f"Invalid update version {level} for feature {feature}. {reason}"
            return _result(feature, ErrorCode.INVALID_UPDATE_VERSION, message)
        await self._caught_up()
        return _result(feature, ErrorCode.NONE, None)


def _result(feature: str, code: ErrorCode, message: str | None) -> UpdatableFeatureResult:
    return UpdatableFeatureResult(feature=feature, error_code=code, error_message=message)


def _kind_of(update: FeatureUpdateKey, version: int) -> UpgradeType:
    if version == 0:
        return UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE
    try:
        return UpgradeType(update.upgrade_type)
    except ValueError:
        return UpgradeType.UNKNOWN


def _why_refused(update: FeatureUpdateKey, kind: UpgradeType) -> str:
    level = update.max_version_level
    if not update.feature:
        return "Feature name can not be empty."
    if kind is UpgradeType.UNKNOWN:
        return "Received unknown upgrade type."
    if level < 1 and kind is not UpgradeType.UPGRADE:
        return "Can not delete non-existing finalized feature."
    if level < 1:
        return (
            f"Can not provide versionLevel: {level} less than 1 without setting the SAFE downgradeType in the request."
        )
    return "Could not apply finalized feature update because the provided feature is not supported."
