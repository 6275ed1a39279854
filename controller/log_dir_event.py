"""Notifies the controller that a log directory of this broker has failed, is full, or has space again."""

import asyncio
import logging

from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import ConnectionLossError, SessionExpiredError, StoreClosedError

__all__ = ["notify_of_log_dir_event"]

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0


async def notify_of_log_dir_event(tree: ClusterTree, broker_id: int) -> None:
    """Write the notification, with retries; writing it twice is harmless."""
    while True:
        try:
            await tree.notify_of_log_dir_event(broker_id)
            return
        except StoreClosedError:
            return  # the broker is stopping, with all its replicas
        except (ConnectionLossError, SessionExpiredError) as error:
            logger.warning("the controller was not told of a change of log directories, next try soon: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
