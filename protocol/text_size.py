"""What a text takes in memory, for those who keep account of what clients say."""

__all__ = ["text_bytes"]

_WIDEST_CHARACTER = 4


def text_bytes(text: str) -> int:
    """At most, and the same whenever it is asked: Python keeps all of a text as wide as its widest character."""
    return len(text) if text.isascii() else _WIDEST_CHARACTER * len(text)
