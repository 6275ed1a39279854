"""AddPartitionsToTxn (API 24): add partitions to a transaction before it writes to them (KIP-98).

Up to v3 clients send it for one transaction; from v4 on brokers do, for several, also just to verify (KIP-890).

- v1: throttling happens after the response (KIP-219). v2: PRODUCER_FENCED may be answered (KIP-588). v3: flexible.
- v4: several transactions, verify only, an error code for all. v5: TRANSACTION_ABORTABLE may be answered.
"""

from ..codec import wire


@wire.struct
class AddPartitionsToTxnTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class AddPartitionsToTxnTransaction(wire.Struct):
    transactional_id: str = wire.string("4+", default="")
    producer_id: int = wire.int64("4+", default=0)
    producer_epoch: int = wire.int16("4+", default=0)
    verify_only: bool = wire.boolean("4+", default=False)
    topics: list[AddPartitionsToTxnTopic] = wire.array(AddPartitionsToTxnTopic, "4+", default_factory=list)


@wire.message(api_key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnRequest(wire.Message):
    transactions: list[AddPartitionsToTxnTransaction] = wire.array(
        AddPartitionsToTxnTransaction, "4+", default_factory=list
    )
    v3_and_below_transactional_id: str = wire.string("0-3", default="")
    v3_and_below_producer_id: int = wire.int64("0-3", default=0)
    v3_and_below_producer_epoch: int = wire.int16("0-3", default=0)
    v3_and_below_topics: list[AddPartitionsToTxnTopic] = wire.array(
        AddPartitionsToTxnTopic, "0-3", default_factory=list
    )


@wire.struct
class AddPartitionsToTxnPartitionResult(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    partition_error_code: int = wire.int16("0+", default=0)


@wire.struct
class AddPartitionsToTxnTopicResult(wire.Struct):
    name: str = wire.string("0+", default="")
    results_by_partition: list[AddPartitionsToTxnPartitionResult] = wire.array(
        AddPartitionsToTxnPartitionResult, "0+", default_factory=list
    )


@wire.struct
class AddPartitionsToTxnResult(wire.Struct):
    transactional_id: str = wire.string("4+", default="")
    topic_results: list[AddPartitionsToTxnTopicResult] = wire.array(
        AddPartitionsToTxnTopicResult, "4+", default_factory=list
    )


@wire.message(api_key=24, versions="0-5", flexible="3+")
class AddPartitionsToTxnResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("4+", default=0, ignorable=True)
    results_by_transaction: list[AddPartitionsToTxnResult] = wire.array(
        AddPartitionsToTxnResult, "4+", default_factory=list
    )
    results_by_topic_v3_and_below: list[AddPartitionsToTxnTopicResult] = wire.array(
        AddPartitionsToTxnTopicResult, "0-3", default_factory=list
    )
