"""Makes text from strangers safe to print: no control character reaches a terminal or begins a line of a log."""

__all__ = ["printable"]


def printable(text: str) -> str:
    """The text with an escape, such as ``\\x1b``, in place of each character that is not printable."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
