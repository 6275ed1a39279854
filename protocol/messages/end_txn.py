"""EndTxn (API 26): commit or abort a transaction (KIP-98).

- v1: throttling happens after the response (KIP-219). v2: PRODUCER_FENCED may be answered (KIP-588). v3: flexible.
- v4: TRANSACTION_ABORTABLE may be answered (KIP-890). v5: the producer gets a new epoch (KIP-890, Kafka 4.0).
"""

from ..codec import wire


@wire.message(api_key=26, versions="0-5", flexible="3+")
class EndTxnRequest(wire.Message):
    transactional_id: str = wire.string("0+", default="")
    producer_id: int = wire.int64("0+", default=0)
    producer_epoch: int = wire.int16("0+", default=0)
    committed: bool = wire.boolean("0+", default=False)


@wire.message(api_key=26, versions="0-5", flexible="3+")
class EndTxnResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    producer_id: int = wire.int64("5+", default=-1, ignorable=True)
    producer_epoch: int = wire.int16("5+", default=-1, ignorable=True)
