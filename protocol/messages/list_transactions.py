"""ListTransactions (API 66): the transactions that this broker coordinates, by state or producer (KIP-664).

- v1: only those that have been running for some time (KIP-994).
"""

from ..codec import wire


@wire.message(api_key=66, versions="0-1", flexible="0+")
class ListTransactionsRequest(wire.Message):
    state_filters: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
    producer_id_filters: list[int] = wire.array(wire.INT64, "0+", default_factory=list)
    duration_filter: int = wire.int64("1+", default=-1)


@wire.struct
class TransactionState(wire.Struct):
    transactional_id: str = wire.string("0+", default="")
    producer_id: int = wire.int64("0+", default=0)
    transaction_state: str = wire.string("0+", default="")


@wire.message(api_key=66, versions="0-1", flexible="0+")
class ListTransactionsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    unknown_state_filters: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
    transaction_states: list[TransactionState] = wire.array(TransactionState, "0+", default_factory=list)
