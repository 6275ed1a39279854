"""What is wrong when nothing is broken but the disk is full."""

from ..protocol.errors import KafkaStorageError

__all__ = ["NoSpaceError"]


class NoSpaceError(KafkaStorageError):
    """There is no space left in the log directory. It stays online: once there is room again, the same step works."""
