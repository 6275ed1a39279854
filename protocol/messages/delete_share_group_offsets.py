"""DeleteShareGroupOffsets (API 92): forget where a share group without members has arrived (KIP-932)."""

from uuid import UUID

from ..codec import wire


@wire.struct
class DeleteShareGroupOffsetsRequestTopic(wire.Struct):
    topic_name: str = wire.string("0+", default="")


@wire.message(api_key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    topics: list[DeleteShareGroupOffsetsRequestTopic] = wire.array(
        DeleteShareGroupOffsetsRequestTopic, "0+", default_factory=list
    )


@wire.struct
class DeleteShareGroupOffsetsResponseTopic(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)


@wire.message(api_key=92, versions="0", flexible="0+")
class DeleteShareGroupOffsetsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    responses: list[DeleteShareGroupOffsetsResponseTopic] = wire.array(
        DeleteShareGroupOffsetsResponseTopic, "0+", default_factory=list
    )
