"""UpdateFeatures: which update reaches the controller, and the first fault of a refused one as the error message."""

import pytest
from pybroker.broker.apis.cluster.update_features import UpdateFeatures
from pybroker.controller.features import FeatureUpdate, UpgradeType
from pybroker.protocol.errors import ErrorCode, FeatureUpdateFailedError, NotControllerError
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


class Controller:
    """Answers every update with `reason`."""

    def __init__(self, *, is_active: bool = True, reason: str | None = None) -> None:
        self.is_active = is_active
        self.reason = reason
        self.failure: Exception | None = None
        self.asked: list[tuple[FeatureUpdate, bool]] = []
        self.catch_ups = 0

    async def update_feature(self, update: FeatureUpdate, *, validate_only: bool) -> str | None:
        self.asked.append((update, validate_only))
        if self.failure is not None:
            raise self.failure
        return self.reason

    async def caught_up(self) -> None:
        self.catch_ups += 1


async def ask(
    *updates: FeatureUpdateKey, version: int = 1, controller: Controller | None = None, validate_only: bool = False
) -> UpdateFeaturesResponse:
    request = UpdateFeaturesRequest(feature_updates=list(updates), validate_only=validate_only)
    asked = controller or Controller()
    handler = UpdateFeatures(asked, asked.caught_up)  # type: ignore[arg-type]
    response: UpdateFeaturesResponse = await call(handler, version, request)
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
        await ask(update("x", 1), controller=Controller(is_active=False))


@pytest.mark.parametrize("validate_only", [True, False])
@pytest.mark.parametrize("kind", [UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE])
async def test_update_of_the_transaction_version_goes_to_the_controller(kind: int, validate_only: bool) -> None:
    controller = Controller()
    asked = update("transaction.version", 2, kind)
    (result,) = (await ask(asked, controller=controller, validate_only=validate_only)).results
    assert (result.feature, result.error_code, result.error_message) == ("transaction.version", ErrorCode.NONE, None)
    assert controller.asked == [(FeatureUpdate(2, UpgradeType(kind)), validate_only)]
    assert controller.catch_ups == 1


@pytest.mark.parametrize(
    ("allow_downgrade", "kind"), [(True, UpgradeType.SAFE_DOWNGRADE), (False, UpgradeType.UPGRADE)]
)
async def test_flag_of_version_0_allows_a_downgrade_of_the_transaction_version(
    allow_downgrade: bool, kind: UpgradeType
) -> None:
    controller = Controller()
    asked = FeatureUpdateKey(feature="transaction.version", max_version_level=1, allow_downgrade=allow_downgrade)
    await ask(asked, version=0, controller=controller)
    assert controller.asked == [(FeatureUpdate(1, kind), False)]


async def test_unknown_upgrade_type_reaches_the_controller_as_unknown() -> None:
    controller = Controller()
    await ask(update("transaction.version", 1, 9), controller=controller)
    assert controller.asked == [(FeatureUpdate(1, UpgradeType.UNKNOWN), False)]


async def test_refused_transaction_version_gets_the_code_and_message_of_kafka_4() -> None:
    controller = Controller(reason="Broker 2 does not support this feature.")
    (result,) = (await ask(update("transaction.version", 2), controller=controller)).results
    assert (result.error_code, result.error_message) == (
        ErrorCode.INVALID_UPDATE_VERSION,
        "Invalid update version 2 for feature transaction.version. Broker 2 does not support this feature.",
    )


async def test_update_that_another_writer_overtakes_gets_feature_update_failed() -> None:
    controller = Controller()
    controller.failure = FeatureUpdateFailedError("late")
    (result,) = (await ask(update("transaction.version", 2), controller=controller)).results
    assert (result.error_code, result.error_message) == (ErrorCode.FEATURE_UPDATE_FAILED, "late")
