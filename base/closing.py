"""How the parts that run in the background end: ``kill`` stops one at once, ``close`` also waits for its end."""

from typing import Protocol

__all__ = ["AsyncClosable"]


class AsyncClosable(Protocol):
    """Something with a connection or a task of its own."""

    def kill(self) -> None:
        """Stop at once: what is under way fails or is cancelled. Does not wait."""

    async def close(self) -> None:
        """`kill`, and wait until everything has ended."""
