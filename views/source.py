"""The origin of a document: which broker filled it, and when."""

from typing import Annotated

from ..base.frozen import frozen

__all__ = ["API_VERSION", "Source"]

API_VERSION = 1


@frozen(kw_only=True)
class Source:
    """The broker that filled the document. Another broker knows other logs, groups and clients."""

    api: Annotated[int, "version of the shapes; it rises when a field changes its meaning or is removed"]
    broker_id: Annotated[int | None, "null when the document was put together from several brokers"]
    cluster_id: Annotated[str | None, "null when the document was not made by a broker"]
    time_ms: int
