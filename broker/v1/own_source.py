"""The origin of the documents of this broker."""

from ...views.source import API_VERSION, Source
from .known_state import KnownState

__all__ = ["source_of"]


def source_of(state: KnownState) -> Source:
    """Return this broker and the time now."""
    identity = state.parts.metadata.identity
    return Source(
        api=API_VERSION, broker_id=identity.broker_id, cluster_id=identity.cluster_id, time_ms=state.clock_ms()
    )
