"""BrokerHeartbeat (API 63): a broker keeps its registration with the KRaft controller alive (KIP-631).

- v1: log directories that failed (KIP-858).
"""

from uuid import UUID

from ..codec import wire


@wire.message(api_key=63, versions="0-1", flexible="0+")
class BrokerHeartbeatRequest(wire.Message):
    broker_id: int = wire.int32("0+", default=0)
    broker_epoch: int = wire.int64("0+", default=-1)
    current_metadata_offset: int = wire.int64("0+", default=0)
    want_fence: bool = wire.boolean("0+", default=False)
    want_shut_down: bool = wire.boolean("0+", default=False)
    offline_log_dirs: list[UUID] = wire.array(wire.UUID16, "1+", default_factory=list, tag=0)


@wire.message(api_key=63, versions="0-1", flexible="0+")
class BrokerHeartbeatResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    is_caught_up: bool = wire.boolean("0+", default=False)
    is_fenced: bool = wire.boolean("0+", default=True)
    should_shut_down: bool = wire.boolean("0+", default=False)
