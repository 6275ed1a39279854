"""An upper bound of the memory a text takes, for the accounts of clients' data."""

__all__ = ["text_bytes"]

_WIDEST_CHARACTER = 4


def text_bytes(text: str) -> int:
    """Return the most bytes that `text` takes. Python stores every character as wide as the widest one."""
    return len(text) if text.isascii() else _WIDEST_CHARACTER * len(text)
