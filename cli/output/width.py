"""How many columns of a terminal a text takes."""

__all__ = ["width_of", "width_of_character"]


def width_of(text: str) -> int:
    """The columns of a printable text."""
    return len(text) if text.isascii() else sum(map(width_of_character, text))


def width_of_character(character: str) -> int:
    """2 for wide characters, 0 for those that combine with the one before, else 1."""
    if character.isascii():
        return 1
    from unicodedata import combining, east_asian_width  # not needed for ASCII

    if combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1
