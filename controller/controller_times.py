"""How long events of the controller wait and take, and the elections outside the ISR, since the start of the broker."""

from ..base.log_buckets import LogBuckets

__all__ = ["ControllerTimes"]

_ELECTIONS = ("brokers changed", "broker changed")
_DELETIONS = ("topic deletions changed",)


class ControllerTimes:
    """Times in seconds. Kafka also counts as elections the events that a change of the live brokers causes."""

    __slots__ = ("elections", "topic_deletions", "waiting")

    def __init__(self) -> None:
        self.waiting = LogBuckets()
        self.elections = LogBuckets()
        self.topic_deletions = LogBuckets()

    def handled(self, event: str, seconds: float) -> None:
        """``event``: its name in the queue."""
        if event in _ELECTIONS:
            self.elections.add(seconds)
        elif event in _DELETIONS:
            self.topic_deletions.add(seconds)
