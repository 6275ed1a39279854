"""The errors of an act that the broker could not carry out."""

__all__ = ["ActError", "NotHereError", "UnknownTopicError"]


class ActError(Exception):
    """The text is a plain line for the user."""


class NotHereError(ActError):
    """Another broker of the cluster can do it: the controller, a coordinator or a leader."""


class UnknownTopicError(ActError, LookupError):
    """This broker knows no such topic."""
