"""UpdateFeatures: every update is refused, with its first fault as the error message."""

import pytest
from pybroker.broker.apis.cluster.update_features import UpdateFeatures
from pybroker.protocol.errors import ErrorCode, NotControllerError
from pybroker.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from support.in_process.group_handlers import call

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
UNSUPPORTED = "Could not apply finalized feature update because the provided feature is not supported."
NOT_THERE = "Can not delete non-existing finalized feature."
TOO_LOW = "Can not provide versionLevel: 0 less than 1 without setting the SAFE downgradeType in the request."


async def ask(*updates: FeatureUpdateKey, version: int = 1, is_controller: bool = True) -> UpdateFeaturesResponse:
    request = UpdateFeaturesRequest(feature_updates=list(updates))
    response: UpdateFeaturesResponse = await call(UpdateFeatures(lambda: is_controller), version, request)
    assert (response.error_code, response.error_message) == (ErrorCode.NONE, None)
    return response


def update(feature: str, level: int, kind: int = UPGRADE) -> FeatureUpdateKey:
    return FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=kind)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (update("metadata.version", 1), UNSUPPORTED),
        (update("x", 1, SAFE_DOWNGRADE), UNSUPPORTED),
        (update("x", 0, SAFE_DOWNGRADE), NOT_THERE),
        (update("x", -1, UNSAFE_DOWNGRADE), NOT_THERE),
        (update("x", 0), TOO_LOW),
        (update("x", 1, 9), "Received unknown upgrade type."),
        (update("", 1, 9), "Feature name can not be empty."),
    ],
)
async def test_a_refused_feature_update_names_its_first_fault(asked: FeatureUpdateKey, message: str) -> None:
    (result,) = (await ask(asked)).results
    assert (result.feature, result.error_code, result.error_message) == (
        asked.feature,
        ErrorCode.INVALID_REQUEST,
        message,
    )


@pytest.mark.parametrize(("allow_downgrade", "message"), [(True, NOT_THERE), (False, TOO_LOW)])
async def test_update_features_version_0_has_a_flag_for_downgrades(allow_downgrade: bool, message: str) -> None:
    asked = FeatureUpdateKey(feature="x", max_version_level=0, allow_downgrade=allow_downgrade)
    (result,) = (await ask(asked, version=0)).results
    assert result.error_message == message


async def test_the_first_of_two_updates_of_one_feature_is_used() -> None:
    (result,) = (await ask(update("x", 1), update("x", 0))).results
    assert result.error_message == UNSUPPORTED


async def test_update_features_without_updates_returns_no_results() -> None:
    assert (await ask()).results == []


async def test_update_features_sent_to_another_broker_gets_not_controller() -> None:
    with pytest.raises(NotControllerError):
        await ask(update("x", 1), is_controller=False)
