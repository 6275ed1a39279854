"""The list of resources at /v1."""

from dataclasses import dataclass

from .source import Source

__all__ = ["Index", "ResourceSummary"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceSummary:
    """One resource."""

    path: str
    summary: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Index:
    """The resources under /v1."""

    source: Source
    resources: tuple[ResourceSummary, ...]
