"""One append to one partition, as a client or a coordinator asks for it."""

from typing import NamedTuple

from ...base.topic_partition import TopicPartition
from ...storage.log.append_chain import UNCHAINED, AppendChain
from ...storage.producers.producer_state import AppendOrigin
from ...storage.producers.verification_guards import VerificationGuard

__all__ = ["AppendRequest"]


class AppendRequest(NamedTuple):
    """A tuple, because one is made for each batch and a frozen dataclass costs three times as much to make.

    ``records`` may be patched in place. ``required_acks``: 0, 1, or -1, which waits until the high watermark covers the
    records, at most ``timeout_ms``. ``now_ms`` is the wall clock, for timestamps. ``allow_internal``: internal topics
    may be written. ``guard`` and ``chain``: see `LeaderAppend`.
    """

    topic_partition: TopicPartition
    records: memoryview | bytearray | bytes
    required_acks: int
    timeout_ms: int
    now_ms: int
    allow_internal: bool = False
    origin: AppendOrigin = AppendOrigin.CLIENT
    guard: VerificationGuard | None = None
    chain: AppendChain = UNCHAINED
