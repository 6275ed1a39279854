"""Documents of requests that fail."""

from dataclasses import dataclass
from typing import Annotated

__all__ = ["Failure", "Misdirected"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why the request failed, in one line."""

    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Misdirected:
    """Another broker coordinates the group."""

    error: str
    coordinator: Annotated[int | None, "id of that broker; null when no broker coordinates the group now"]
