"""What is wrong when nothing is broken but the disk is full, or too many files are open."""

from ...protocol.errors import KafkaStorageError

__all__ = ["NoDescriptorsError", "NoSpaceError"]


class NoSpaceError(KafkaStorageError):
    """There is no space left in the log directory. It stays online: once there is room again, the same step works."""


class NoDescriptorsError(NoSpaceError):
    """The process or the system can open no more files (EMFILE, ENFILE); nothing was read or written."""
