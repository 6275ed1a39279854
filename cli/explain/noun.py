"""The subjects of ``pybroker explain`` for any cluster."""

from ..verb import Noun
from .explain_acl import ACL
from .explain_group import GROUP
from .explain_lag import LAG
from .explain_offset import OFFSET
from .explain_retention import RETENTION
from .explain_topic import TOPIC

__all__ = ["EXPLAIN"]

EXPLAIN = Noun(
    "explain",
    "Says why something is as it is, who is the reason, and what to try.",
    (GROUP, LAG, ACL, OFFSET, RETENTION, TOPIC),
)
