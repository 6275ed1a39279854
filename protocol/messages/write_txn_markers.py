"""WriteTxnMarkers (API 27): a transaction coordinator tells brokers to write the markers of ended transactions
(KIP-98).

- v1: flexible. v2: the transaction version of the marker (KIP-1228, Kafka 4.2).
"""

from ..codec import wire


@wire.struct
class WritableTxnMarkerTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partition_indexes: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class WritableTxnMarker(wire.Struct):
    producer_id: int = wire.int64("0+", default=0)
    producer_epoch: int = wire.int16("0+", default=0)
    transaction_result: bool = wire.boolean("0+", default=False)
    topics: list[WritableTxnMarkerTopic] = wire.array(WritableTxnMarkerTopic, "0+", default_factory=list)
    coordinator_epoch: int = wire.int32("0+", default=0)
    transaction_version: int = wire.int8("2+", default=0, ignorable=True)


@wire.message(api_key=27, versions="0-2", flexible="1+")
class WriteTxnMarkersRequest(wire.Message):
    markers: list[WritableTxnMarker] = wire.array(WritableTxnMarker, "0+", default_factory=list)


@wire.struct
class WritableTxnMarkerPartitionResult(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)


@wire.struct
class WritableTxnMarkerTopicResult(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[WritableTxnMarkerPartitionResult] = wire.array(
        WritableTxnMarkerPartitionResult, "0+", default_factory=list
    )


@wire.struct
class WritableTxnMarkerResult(wire.Struct):
    producer_id: int = wire.int64("0+", default=0)
    topics: list[WritableTxnMarkerTopicResult] = wire.array(WritableTxnMarkerTopicResult, "0+", default_factory=list)


@wire.message(api_key=27, versions="0-2", flexible="1+")
class WriteTxnMarkersResponse(wire.Message):
    markers: list[WritableTxnMarkerResult] = wire.array(WritableTxnMarkerResult, "0+", default_factory=list)
