"""Numbers that the protocol uses in place of a value."""

__all__ = ["EARLIEST", "EPOCH_DURING_DELETE", "LATEST", "NO_BROKER_EPOCH", "NO_LEADER", "NO_LEADER_EPOCH"]

NO_LEADER = -1
"""In place of a broker id: the partition has no leader."""
NO_LEADER_EPOCH = -1
EPOCH_DURING_DELETE = -2
"""In place of a leader epoch, for a topic that is being deleted; it passes any check."""
NO_BROKER_EPOCH = -1
LATEST = -1
"""In place of a timestamp in ListOffsets: the end of the log."""
EARLIEST = -2
"""In place of a timestamp in ListOffsets: the start of the log."""
