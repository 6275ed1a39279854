"""The parts of the ShareFetch handler, and how much a request may fetch."""

from typing import NamedTuple

from ....protocol.messages.share_fetch import ShareFetchRequest
from ...requests.context import RequestContext
from ...requests.throttling import Throttling
from ...share.fetched_records import ShareFetchParams, ShareFetchParts
from ...share.sessions import MemberKey
from ...share.share_partitions import SharePartitions
from ..records.fetch import TopicNames
from ..records.parked_fetches import ParkedFetches
from .fetch_response import FetchResponses

__all__ = ["ACQUIRE_MODES", "ShareFetchHandlerParts", "fetch_params"]

_BATCH_OPTIMIZED, _RECORD_LIMIT = 0, 1
ACQUIRE_MODES = (_BATCH_OPTIMIZED, _RECORD_LIMIT)
"""The acquire modes of the protocol (KIP-1206)."""


class ShareFetchHandlerParts(NamedTuple):
    """``max_bytes``: fetch.max.bytes. ``parked``: the memory of fetches that wait."""

    shares: SharePartitions
    names: TopicNames
    fetching: ShareFetchParts
    responses: FetchResponses
    parked: ParkedFetches
    throttling: Throttling | None
    max_bytes: int


def fetch_params(
    parts: ShareFetchHandlerParts, context: RequestContext, key: MemberKey, request: ShareFetchRequest
) -> ShareFetchParams:
    """The parameters of a request, within the limits of the broker and the client's quota."""
    max_bytes = min(request.max_bytes, parts.max_bytes)
    most = None if parts.throttling is None else parts.throttling.most_fetched(context)
    if most is not None:
        max_bytes = int(min(max_bytes, most))
    return ShareFetchParams(
        key.member_id,
        request.max_wait_ms,
        min(request.min_bytes, max_bytes),
        max_bytes,
        request.max_records,
        request.batch_size,
        parts.shares.settings_of(key.group_id).isolation,
        request.share_acquire_mode == _RECORD_LIMIT,
    )
