"""The judgement of a check."""

from collections.abc import Sequence

from ...base.frozen import frozen
from ..visible_topics import UNSEEN
from .shapes import Unknown, Verdict

__all__ = ["NO_ANSWER", "NO_TOPICS", "Judgement", "listed_names", "ok", "skipped"]

_SHOWN = 5
NO_ANSWER = Unknown("the cluster did not answer")
NO_TOPICS = Unknown(UNSEEN)


@frozen
class Judgement:
    """The judgement of a check, one line about it, and one line with the remedy."""

    verdict: Verdict
    text: str
    remedy: str | None = None


def ok(text: str) -> Judgement:
    """All is well."""
    return Judgement("ok", text)


def skipped(unknown: Unknown) -> Judgement:
    """The check lacks a fact."""
    return Judgement("skipped", unknown.reason)


def listed_names(names: Sequence[str]) -> str:
    """The first names, and how many there are more."""
    rest = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f" and {rest:,} more" if rest > 0 else "")
