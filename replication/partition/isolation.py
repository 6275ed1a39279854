"""The offset up to which a fetch may read."""

from enum import Enum, auto

__all__ = ["Isolation"]


class Isolation(Enum):
    """Followers read to the log end, consumers to the high watermark, read_committed ones to the last stable offset."""

    LOG_END = auto()
    HIGH_WATERMARK = auto()
    COMMITTED = auto()
