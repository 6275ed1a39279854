"""The list of resources at /v1."""

from ..base.frozen import frozen
from .source import Source

__all__ = ["Index", "ResourceSummary"]


@frozen(kw_only=True)
class ResourceSummary:
    """One resource."""

    path: str
    summary: str


@frozen(kw_only=True)
class Index:
    """The resources under /v1."""

    source: Source
    resources: tuple[ResourceSummary, ...]
