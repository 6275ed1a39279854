"""The error of an act that the broker could not carry out."""

__all__ = ["ActError"]


class ActError(Exception):
    """The text is a plain line for the user."""
