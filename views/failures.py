"""Documents of requests that fail."""

from typing import Annotated

from ..base.frozen import frozen

__all__ = ["Failure", "Misdirected"]


@frozen(kw_only=True)
class Failure:
    """Why the request failed, in one line."""

    error: str


@frozen(kw_only=True)
class Misdirected:
    """Another broker coordinates the group."""

    error: str
    coordinator: Annotated[int | None, "id of that broker; null when no broker coordinates the group now"]
