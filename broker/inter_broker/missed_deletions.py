"""Topics that were deleted while this broker was not registered, and lived on: nobody has told it of that.

With its next registration it is told all there is, but not what is no more (Kafka's brokers keep that until they are
restarted).
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
    """Compare what this broker knows with what there is. Once more in the next session, if this one ends meanwhile."""
    while True:
        known = {topic: cache.topic_id(topic) for topic in cache.topics}
        try:
            existing = frozenset(await tree.topics_by_now())
        except (SessionExpiredError, StoreClosedError):
            return
        except ConnectionLossError:
            await asyncio.sleep(_RETRY_SECONDS)
            continue
        except MetadataStoreError as error:
            logger.error("topics that were deleted meanwhile cannot be told: %s", error)
            return
        # One that was made anew meanwhile has another id.
        gone = [
            topic for topic, known_id in known.items() if topic not in existing and cache.topic_id(topic) == known_id
        ]
        if gone:
            logger.info("topics were deleted while this broker was not registered: %s", ", ".join(gone))
            cache.forget(gone)
        return
