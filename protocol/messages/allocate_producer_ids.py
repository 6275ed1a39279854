"""AllocateProducerIds (API 67): a broker asks the controller for a block of producer ids (KIP-730)."""

from ..codec import wire


@wire.message(api_key=67, versions="0", flexible="0+")
class AllocateProducerIdsRequest(wire.Message):
    broker_id: int = wire.int32("0+", default=0)
    broker_epoch: int = wire.int64("0+", default=-1)


@wire.message(api_key=67, versions="0", flexible="0+")
class AllocateProducerIdsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    producer_id_start: int = wire.int64("0+", default=0)
    producer_id_len: int = wire.int32("0+", default=0)
