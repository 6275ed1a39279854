"""The outcome of a request: a response at once, or a record to write and the response once it is committed."""

from typing import NamedTuple

from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode
from ....protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from .picture import TransactionPicture

__all__ = ["Change", "Outcome", "Response", "WantsProducerId", "code_in_version"]

_FIRST_WITH_PRODUCER_FENCED = {
    ApiKey.INIT_PRODUCER_ID: 4,
    ApiKey.ADD_PARTITIONS_TO_TXN: 2,
    ApiKey.ADD_OFFSETS_TO_TXN: 2,
    ApiKey.END_TXN: 2,
}


class Response(NamedTuple):
    """The response. ``producer_id``, ``producer_epoch``: what the producer goes on with, if it is told."""

    code: ErrorCode
    producer_id: int = NO_PRODUCER_ID
    producer_epoch: int = NO_PRODUCER_EPOCH


class Change(NamedTuple):
    """A picture to write, and the response when its record is committed."""

    picture: TransactionPicture
    response: Response


class WantsProducerId(NamedTuple):
    """The rule needs a fresh producer id: take one and call the rule again, because the state may have changed."""


Outcome = Response | Change | WantsProducerId


def code_in_version(api: ApiKey, version: int, code: ErrorCode) -> ErrorCode:
    """The code for a request of this version. Clients of old versions do not know PRODUCER_FENCED (KIP-588)."""
    is_unknown = version < _FIRST_WITH_PRODUCER_FENCED.get(api, 0)
    return ErrorCode.INVALID_PRODUCER_EPOCH if is_unknown and code is ErrorCode.PRODUCER_FENCED else code
