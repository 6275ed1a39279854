"""AddOffsetsToTxn (API 25): add a group to a transaction before it commits the group's offsets (KIP-98).

- v1: throttling happens after the response (KIP-219). v2: PRODUCER_FENCED may be answered (KIP-588). v3: flexible.
- v4: TRANSACTION_ABORTABLE may be answered (KIP-890).
"""

from ..codec import wire


@wire.message(api_key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnRequest(wire.Message):
    transactional_id: str = wire.string("0+", default="")
    producer_id: int = wire.int64("0+", default=0)
    producer_epoch: int = wire.int16("0+", default=0)
    group_id: str = wire.string("0+", default="")


@wire.message(api_key=25, versions="0-4", flexible="3+")
class AddOffsetsToTxnResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
