"""DescribeTransactions (API 65): state and partitions of transactions (KIP-664)."""

from ..codec import wire


@wire.message(api_key=65, versions="0", flexible="0+")
class DescribeTransactionsRequest(wire.Message):
    transactional_ids: list[str] = wire.array(wire.STRING, "0+", default_factory=list)


@wire.struct
class TopicData(wire.Struct):
    topic: str = wire.string("0+", default="")
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class TransactionState(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    transactional_id: str = wire.string("0+", default="")
    transaction_state: str = wire.string("0+", default="")
    transaction_timeout_ms: int = wire.int32("0+", default=0)
    transaction_start_time_ms: int = wire.int64("0+", default=0)
    producer_id: int = wire.int64("0+", default=0)
    producer_epoch: int = wire.int16("0+", default=0)
    topics: list[TopicData] = wire.array(TopicData, "0+", default_factory=list)


@wire.message(api_key=65, versions="0", flexible="0+")
class DescribeTransactionsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    transaction_states: list[TransactionState] = wire.array(TransactionState, "0+", default_factory=list)
