"""Patterns of topic names, as members send them."""

from .....protocol.errors import InvalidRegularExpressionError
from ....patterns.error import PatternError
from ....patterns.pattern import Pattern, compile_pattern

__all__ = ["check_pattern", "name_pattern"]


def name_pattern(text: str) -> Pattern:
    """Compile a pattern; raises InvalidRegularExpressionError."""
    try:
        return compile_pattern(text)
    except PatternError as error:
        raise InvalidRegularExpressionError(f"{text!r} is not a valid regular expression: {error}") from error


def check_pattern(text: str) -> None:
    """Raises InvalidRegularExpressionError for a pattern that cannot be used."""
    name_pattern(text)
