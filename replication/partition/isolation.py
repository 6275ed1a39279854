"""The offset up to which a fetch may read."""

from enum import Enum, auto

from ...protocol.errors import UnknownServerError

__all__ = ["CONSUMER", "Isolation", "check_isolation_level"]

CONSUMER = -1
"""In place of the replica id of a follower."""
_READ_COMMITTED = 1
_LEVELS = (0, _READ_COMMITTED)


class Isolation(Enum):
    """Followers read to the log end, consumers to the high watermark, read_committed ones to the last stable offset."""

    LOG_END = auto()
    HIGH_WATERMARK = auto()
    COMMITTED = auto()

    @classmethod
    def of(cls, replica_id: int, level: int) -> "Isolation":
        """For the replica id and the isolation level of a request."""
        if replica_id != CONSUMER:
            return cls.LOG_END
        return cls.COMMITTED if level == _READ_COMMITTED else cls.HIGH_WATERMARK


def check_isolation_level(level: int) -> None:
    """Raises UnknownServerError, as Kafka does, for a level that does not exist."""
    if level not in _LEVELS:
        raise UnknownServerError(f"isolation level {level} is unknown")
