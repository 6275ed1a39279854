"""ApiVersions (API 18): the versions of each API that this broker serves.

The first request of a connection. One in an unknown version is answered in v0 with UNSUPPORTED_VERSION and the range of
this API (KIP-511); for that the response's header stays at version 0.

- v1: throttle time. v2: throttling happens after the response (KIP-219). v3: flexible; name and version of the client
  (KIP-511), features of the cluster (KIP-584), readiness for the migration from ZooKeeper (KIP-866).
- v4: a supported feature may begin at version 0 (KAFKA-17011).
"""

from ..codec import wire


@wire.message(api_key=18, versions="0-4", flexible="3+")
class ApiVersionsRequest(wire.Message):
    client_software_name: str = wire.string("3+", default="", ignorable=True)
    client_software_version: str = wire.string("3+", default="", ignorable=True)


@wire.struct
class ApiVersion(wire.Struct):
    api_key: int = wire.int16("0+", default=0)
    min_version: int = wire.int16("0+", default=0)
    max_version: int = wire.int16("0+", default=0)


@wire.struct
class SupportedFeatureKey(wire.Struct):
    name: str = wire.string("3+", default="")
    min_version: int = wire.int16("3+", default=0)
    max_version: int = wire.int16("3+", default=0)


@wire.struct
class FinalizedFeatureKey(wire.Struct):
    name: str = wire.string("3+", default="")
    max_version_level: int = wire.int16("3+", default=0)
    min_version_level: int = wire.int16("3+", default=0)


@wire.message(api_key=18, versions="0-4", flexible="3+")
class ApiVersionsResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    api_keys: list[ApiVersion] = wire.array(ApiVersion, "0+", default_factory=list)
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    supported_features: list[SupportedFeatureKey] = wire.array(
        SupportedFeatureKey, "3+", default_factory=list, tag=0, ignorable=True
    )
    finalized_features_epoch: int = wire.int64("3+", default=-1, tag=1, ignorable=True)
    finalized_features: list[FinalizedFeatureKey] = wire.array(
        FinalizedFeatureKey, "3+", default_factory=list, tag=2, ignorable=True
    )
    zk_migration_ready: bool = wire.boolean("3+", default=False, tag=3, ignorable=True)
