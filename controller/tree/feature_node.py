"""The node /feature with the cluster's feature levels, which the controller keeps enabled (KIP-584)."""

from ...config.versions import is_at_least
from . import znodes
from .metadata_store import MetadataStore, NodeExistsError
from .znodes import Features, FeatureStatus

__all__ = ["enable_features"]


_FIRST_WITHOUT_RANGES = "3.3-IV0"


async def enable_features(store: MetadataStore, protocol_version: str) -> None:
    """Create the node, or set its status to enabled; existing levels stay.

    Its format can be read by controllers of the release that ``inter.broker.protocol.version`` names.
    """
    version = 2 if is_at_least(protocol_version, _FIRST_WITHOUT_RANGES) else 1
    wanted = Features(status=FeatureStatus.ENABLED, version=version)
    try:
        await store.create(znodes.FEATURE_PATH, wanted.encode())
    except NodeExistsError:
        data, stat = await store.get(znodes.FEATURE_PATH)
        current = Features.decode(data)
        kept = Features(current.levels if current.status is FeatureStatus.ENABLED else {}, version=version)
        if kept != current:
            await store.set(znodes.FEATURE_PATH, kept.encode(), stat.version)
