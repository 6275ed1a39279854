"""BrokerRegistration (API 62): a broker registers with the KRaft controller (KIP-631). Controllers only.

- v1: whether it is a ZooKeeper broker that migrates (KIP-866). v2: log directory ids (KIP-858).
- v3: the broker epoch before a clean shutdown (KIP-966).
- v4: a supported feature may begin at version 0 (KAFKA-17011).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class Listener(wire.Struct):
    name: str = wire.string("0+", default="")
    host: str = wire.string("0+", default="")
    port: int = wire.uint16("0+", default=0)
    security_protocol: int = wire.int16("0+", default=0)


@wire.struct
class Feature(wire.Struct):
    name: str = wire.string("0+", default="")
    min_supported_version: int = wire.int16("0+", default=0)
    max_supported_version: int = wire.int16("0+", default=0)


@wire.message(api_key=62, versions="0-4", flexible="0+")
class BrokerRegistrationRequest(wire.Message):
    broker_id: int = wire.int32("0+", default=0)
    cluster_id: str = wire.string("0+", default="")
    incarnation_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    listeners: list[Listener] = wire.array(Listener, "0+", default_factory=list)
    features: list[Feature] = wire.array(Feature, "0+", default_factory=list)
    rack: str | None = wire.string("0+", nullable="0+", default="")
    is_migrating_zk_broker: bool = wire.boolean("1+", default=False)
    log_dirs: list[UUID] = wire.array(wire.UUID16, "2+", default_factory=list, ignorable=True)
    previous_broker_epoch: int = wire.int64("3+", default=-1, ignorable=True)


@wire.message(api_key=62, versions="0-4", flexible="0+")
class BrokerRegistrationResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    broker_epoch: int = wire.int64("0+", default=-1)
