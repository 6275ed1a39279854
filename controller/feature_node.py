"""/feature: the cluster's feature levels, which a broker with feature versioning keeps enabled (KIP-584)."""

from . import znodes
from .metadata_store import MetadataStore, NodeExistsError
from .znodes import Features, FeatureStatus

__all__ = ["enable_features"]


async def enable_features(store: MetadataStore) -> None:
    """Make the node, or set its status to enabled; levels that were enabled before stay."""
    wanted = Features(status=FeatureStatus.ENABLED)
    try:
        await store.create(znodes.FEATURE_PATH, wanted.encode())
    except NodeExistsError:
        data, stat = await store.get(znodes.FEATURE_PATH)
        current = Features.decode(data)
        kept = Features(current.levels if current.status is FeatureStatus.ENABLED else {})
        if kept != current:
            await store.set(znodes.FEATURE_PATH, kept.encode(), stat.version)
