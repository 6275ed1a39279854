"""Patterns of topic names, as members send them."""

from collections.abc import Collection

from .....protocol.errors import InvalidRegularExpressionError
from ....patterns.error import PatternError
from ....patterns.pattern import check_pattern

__all__ = ["MOST_PATTERNS", "check_new_pattern"]

MOST_PATTERNS = 50
"""Different patterns in a group: the broker looks all of them up whenever topics come or go."""


def check_new_pattern(text: str, known: Collection[str]) -> None:
    """Raises InvalidRegularExpressionError for a pattern that a group with the patterns ``known`` cannot have too."""
    if len(known) >= MOST_PATTERNS:
        raise InvalidRegularExpressionError(f"the group has {len(known)} different patterns, the most that it may have")
    try:
        check_pattern(text)
    except PatternError as error:
        raise InvalidRegularExpressionError(f"{text!r} is not a valid regular expression: {error}") from error
