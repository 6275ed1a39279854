"""UpdateFeatures (API 57): change the finalized versions of the cluster's features (KIP-584).

- v1: upgrade types, and validate only (KIP-778). v2: one error for all updates, no results.
"""

from ..codec import wire


@wire.struct
class FeatureUpdateKey(wire.Struct):
    feature: str = wire.string("0+", default="")
    max_version_level: int = wire.int16("0+", default=0)
    allow_downgrade: bool = wire.boolean("0", default=False)
    upgrade_type: int = wire.int8("1+", default=1)


@wire.message(api_key=57, versions="0-2", flexible="0+")
class UpdateFeaturesRequest(wire.Message):
    timeout_ms: int = wire.int32("0+", default=60000)
    feature_updates: list[FeatureUpdateKey] = wire.array(FeatureUpdateKey, "0+", default_factory=list)
    validate_only: bool = wire.boolean("1+", default=False)


@wire.struct
class UpdatableFeatureResult(wire.Struct):
    feature: str = wire.string("0+", default="")
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")


@wire.message(api_key=57, versions="0-2", flexible="0+")
class UpdateFeaturesResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    results: list[UpdatableFeatureResult] = wire.array(
        UpdatableFeatureResult, "0-1", default_factory=list, ignorable=True
    )
