"""The error of a pattern that is refused."""

__all__ = ["PatternError"]


class PatternError(ValueError):
    """The text is not a pattern, or the pattern is too large. ``position``: where in the text, from 0."""

    def __init__(self, message: str, position: int) -> None:
        super().__init__(f"{message} (character {position + 1})")
