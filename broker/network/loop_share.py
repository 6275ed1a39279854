"""One connection's use of the event loop's time, which the gate and the fair queue keep up to date."""

__all__ = ["LoopShare"]


class LoopShare:
    """One connection's use of the loop: its virtual finish time, its debt, and which of its requests were cheap."""

    __slots__ = ("cheap_apis", "debt_until_s", "finish_s", "is_expensive", "last_cost_s", "used_s", "wastes_produce")

    def __init__(self, cheap_apis: int) -> None:
        self.cheap_apis = cheap_apis
        """A bit for each API: a request of it was cheap on this connection, or it counts as cheap from the start."""
        self.debt_until_s = 0.0
        self.finish_s = 0.0
        """Virtual finish time of the connection's last charged request or step."""
        self.last_cost_s = 0.0
        self.is_expensive = False
        """The current request may be expensive; it queues if the queue is not free."""
        self.used_s = 0.0
        """CPU time of the requests that `Connection` started in the current pass, without Produce."""
        self.wastes_produce = False
        """The last large produce request was refused, or contained partitions without records."""
