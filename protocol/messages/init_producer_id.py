"""InitProducerId (API 22): a producer id and epoch for an idempotent or transactional producer (KIP-98).

With a transactional id this ends the predecessor's open transaction and fences it off.

- v1: throttling happens after the response (KIP-219). v2: flexible.
- v3: the producer's current id and epoch, to go on after an error (KIP-360).
- v4: PRODUCER_FENCED may be answered (KIP-588). v5: TRANSACTION_ABORTABLE may be answered (KIP-890).
"""

from ..codec import wire


@wire.message(api_key=22, versions="0-5", flexible="2+")
class InitProducerIdRequest(wire.Message):
    transactional_id: str | None = wire.string("0+", nullable="0+", default="")
    transaction_timeout_ms: int = wire.int32("0+", default=0)
    producer_id: int = wire.int64("3+", default=-1)
    producer_epoch: int = wire.int16("3+", default=-1)


@wire.message(api_key=22, versions="0-5", flexible="2+")
class InitProducerIdResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    producer_id: int = wire.int64("0+", default=-1)
    producer_epoch: int = wire.int16("0+", default=0)
