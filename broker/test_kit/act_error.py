"""The error of an act that the broker could not carry out."""

__all__ = ["ActError", "NotHereError"]


class ActError(Exception):
    """The text is a plain line for the user."""


class NotHereError(ActError):
    """Another broker of the cluster can do it: the controller, a coordinator or a leader."""
