"""The newest versions of APIs that this client can use; an API that is not listed has no limit."""

from __future__ import annotations

from ..protocol.apis import ApiKey
from ..protocol.codec.schema import VersionRange

MAX_RESPONSE_BYTES = (1 << 31) - 1

USABLE = {
    ApiKey.FETCH: VersionRange(0, 12),  # from 13 on topics are named by id (KIP-516), and readers know names
    ApiKey.METADATA: VersionRange(0, 12),
    ApiKey.FIND_COORDINATOR: VersionRange(0, 3),  # from 4 on a request has several keys (KIP-699)
    ApiKey.OFFSET_FETCH: VersionRange(0, 7),  # from 8 on a request has several groups (KIP-709)
    ApiKey.OFFSET_COMMIT: VersionRange(0, 9),  # from 10 on topics are named by id
    ApiKey.PRODUCE: VersionRange(0, 11),  # from 12 on the broker adds partitions to the transaction (KIP-890)
    ApiKey.ADD_PARTITIONS_TO_TXN: VersionRange(0, 3),  # from 4 on brokers send it
    ApiKey.END_TXN: VersionRange(0, 4),  # from 5 on the producer gets a new epoch (KIP-890)
    ApiKey.UPDATE_FEATURES: VersionRange(0, 1),  # from 2 on there is no result for each feature
    ApiKey.DELETE_TOPICS: VersionRange(0, 5),  # from 6 on topics may be named by id
}
