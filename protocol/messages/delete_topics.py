"""DeleteTopics (API 20): delete topics. Served by the controller.

- v1: throttle time. v2: throttling happens after the response (KIP-219).
- v3: TOPIC_DELETION_DISABLED may be answered (KIP-322). v4: flexible.
- v5: error messages, THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599).
- v6: topics by name or by id (KIP-516).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class DeleteTopicState(wire.Struct):
    name: str | None = wire.string("6+", nullable="6+", default=None)
    topic_id: UUID = wire.uuid("6+", default=wire.NULL_UUID)


@wire.message(api_key=20, versions="0-6", flexible="4+")
class DeleteTopicsRequest(wire.Message):
    topics: list[DeleteTopicState] = wire.array(DeleteTopicState, "6+", default_factory=list)
    topic_names: list[str] = wire.array(wire.STRING, "0-5", default_factory=list, ignorable=True)
    timeout_ms: int = wire.int32("0+", default=0)


@wire.struct
class DeletableTopicResult(wire.Struct):
    name: str | None = wire.string("0+", nullable="6+", default="")
    topic_id: UUID = wire.uuid("6+", default=wire.NULL_UUID, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("5+", nullable="5+", default=None, ignorable=True)


@wire.message(api_key=20, versions="0-6", flexible="4+")
class DeleteTopicsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    responses: list[DeletableTopicResult] = wire.array(DeletableTopicResult, "0+", default_factory=list)
