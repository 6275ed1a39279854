"""The node /feature with the cluster's feature levels, which the controller changes and keeps enabled (KIP-584)."""

from collections.abc import Mapping
from dataclasses import replace

from ...config.versions import is_at_least
from . import znodes
from .metadata_store import MetadataStore, NodeExistsError
from .znodes import Features, FeatureStatus

__all__ = ["enable_features", "levels_with", "read_features"]


_FIRST_WITHOUT_RANGES = "3.3-IV0"


async def enable_features(store: MetadataStore, protocol_version: str, levels_of_new: Mapping[str, int]) -> None:
    """Create the node with ``levels_of_new``, or set its status to enabled; existing levels stay.

    Its format can be read by controllers of the release that ``inter.broker.protocol.version`` names.
    """
    version = 2 if is_at_least(protocol_version, _FIRST_WITHOUT_RANGES) else 1
    wanted = Features(levels_of_new, FeatureStatus.ENABLED, version)
    try:
        await store.create(znodes.FEATURE_PATH, wanted.encode())
    except NodeExistsError:
        data, stat = await store.get(znodes.FEATURE_PATH)
        current = Features.decode(data)
        kept = Features(current.levels if current.status is FeatureStatus.ENABLED else {}, version=version)
        if kept != current:
            await store.set(znodes.FEATURE_PATH, kept.encode(), stat.version)


async def read_features(store: MetadataStore) -> tuple[Features, int]:
    """The features, and the version of their node, which `enable_features` has created."""
    data, stat = await store.get(znodes.FEATURE_PATH)
    return Features.decode(data), stat.version


def levels_with(features: Features, name: str, level: int) -> Features:
    """``features`` with another level of one of them. A feature of level 0 has no entry."""
    levels = {**features.levels, name: level}
    return replace(features, levels={key: value for key, value in levels.items() if value})
