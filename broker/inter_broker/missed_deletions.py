"""Forgets topics that were deleted while this broker ran without a registration.

With its next registration the controller sends it all topics that exist, but no deletions. (Kafka's brokers keep such
topics in their metadata until they restart.)
"""

import asyncio
import logging

from ...controller.tree.cluster_tree import ClusterTree
from ...controller.tree.metadata_store import (
    ConnectionLossError,
    MetadataStoreError,
    SessionExpiredError,
    StoreClosedError,
)
from ..metadata.metadata_cache import MetadataCache

__all__ = ["forget_missed_deletions"]

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0


async def forget_missed_deletions(cache: MetadataCache, tree: ClusterTree) -> None:
    """Remove topics from the cache that the tree lacks. Gives up if the session ends; the next session tries again."""
    while True:
        known = {topic: cache.topic_id(topic) for topic in cache.topics}
        try:
            existing = frozenset(await tree.current_topics())
        except (SessionExpiredError, StoreClosedError):
            return
        except ConnectionLossError:
            await asyncio.sleep(_RETRY_SECONDS)
            continue
        except MetadataStoreError as error:
            logger.error("topics that were deleted meanwhile could not be found out: %s", error)
            return
        # A topic that was created again meanwhile has another id.
        gone = [
            topic for topic, known_id in known.items() if topic not in existing and cache.topic_id(topic) == known_id
        ]
        if gone:
            logger.info("topics were deleted while this broker was not registered: %s", ", ".join(gone))
            cache.forget(gone)
        return
