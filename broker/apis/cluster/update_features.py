"""UpdateFeatures (KIP-584): change the level of a feature of the cluster.

The features are ``transaction.version``, and in a cluster whose settings ask for their protocols ``group.version`` and
``share.version``. Their errors are those of Kafka 4. Updates of other features are refused as by Kafka 3.9 in ZooKeeper
mode; the error message depends on the first fault of the update.

v1 kinds of updates in place of a flag, and validation only, on request (KIP-778). v2 changes all features or none, and
answers with the first error alone, in the words of Kafka 4.
"""

from collections.abc import Awaitable, Callable, Iterable

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

_FIRST_WITHOUT_RESULTS = 2
_ALL_FAILED = "The update failed for all features since the following feature had an error:"


class UpdateFeatures:
    """Handler. ``caught_up`` waits until this broker follows the changes written so far. ``features``: those whose
    level can be changed."""

    def __init__(
        self,
        controller: Controller,
        caught_up: Callable[[], Awaitable[None]],
        features: Iterable[str] = (TRANSACTION_VERSION,),
    ) -> None:
        self._features = frozenset(features)
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
        if context.api_version >= _FIRST_WITHOUT_RESULTS:
            return await self._update_all(updates.values(), validate_only=request.validate_only)
        results = [
            await self._update(update, _kind_of(update, context.api_version), validate_only=request.validate_only)
            for update in updates.values()
        ]
        return UpdateFeaturesResponse(error_message=None, results=results)

    async def _update_all(self, updates: Iterable[FeatureUpdateKey], *, validate_only: bool) -> UpdateFeaturesResponse:
        """Change every feature if all may be changed, else none."""
        for only_check in (True,) if validate_only else (True, False):
            for update in updates:
                kind = _kind_of(update, _FIRST_WITHOUT_RESULTS)
                result = await self._update(update, kind, validate_only=only_check)
                if update.feature not in self._features:
                    result = _not_updated(update, _why_unknown(update, kind))
                if result.error_code:
                    message = f"{_ALL_FAILED} {result.error_message}"
                    return UpdateFeaturesResponse(error_code=result.error_code, error_message=message)
        return UpdateFeaturesResponse(error_message=None)

    async def _update(
        self, update: FeatureUpdateKey, kind: UpgradeType, *, validate_only: bool
    ) -> UpdatableFeatureResult:
        feature = update.feature
        if feature not in self._features:
            return _result(feature, ErrorCode.INVALID_REQUEST, _why_refused(update, kind))
        try:
            reason = await self._controller.update_feature(
                FeatureUpdate(update.max_version_level, kind, feature), validate_only=validate_only
            )
        except FeatureUpdateFailedError as error:
            return _result(feature, error.code, error.message)
        if reason is not None:
            return _not_updated(update, reason)
        await self._caught_up()
        return _result(feature, ErrorCode.NONE, None)


def _result(feature: str, code: ErrorCode, message: str | None) -> UpdatableFeatureResult:
    return UpdatableFeatureResult(feature=feature, error_code=code, error_message=message)


def _not_updated(update: FeatureUpdateKey, reason: str) -> UpdatableFeatureResult:
    message = f"Invalid update version {update.max_version_level} for feature {update.feature}. {reason}"
    return _result(update.feature, ErrorCode.INVALID_UPDATE_VERSION, message)


def _kind_of(update: FeatureUpdateKey, version: int) -> UpgradeType:
    if version == 0:
        return UpgradeType.SAFE_DOWNGRADE if update.allow_downgrade else UpgradeType.UPGRADE
    try:
        return UpgradeType(update.upgrade_type)
    except ValueError:
        return UpgradeType.UNKNOWN


def _why_unknown(update: FeatureUpdateKey, kind: UpgradeType) -> str:
    """Why a feature that the brokers do not have cannot be updated, in Kafka 4."""
    if kind is UpgradeType.UNKNOWN:
        return "The controller does not support the given upgrade type."
    if update.max_version_level < 0:
        return "A feature version cannot be less than 0."
    if update.max_version_level > 0:
        return "The controller does not support this feature."
    return f"Feature {update.feature} not found."


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
