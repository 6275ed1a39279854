"""The memory used by the entries of a coordinator, such as groups, and its limit (Kafka has none)."""

__all__ = ["EntryMemory"]


class EntryMemory:
    """The memory used by all entries of a coordinator, counted by whoever adds and removes them."""

    __slots__ = ("max_bytes", "used_bytes")

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0

    def has_space_for(self, size_bytes: int) -> bool:
        return self.used_bytes + size_bytes <= self.max_bytes
