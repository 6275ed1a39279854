"""Suggestions for typing errors."""

from collections.abc import Sequence
from difflib import get_close_matches

__all__ = ["did_you_mean"]


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """A suggestion for a word with a typing error, to be put behind the refusal; empty if nothing is near."""
    near = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
