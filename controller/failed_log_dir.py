"""Notifies the controller that a log directory of this broker has failed."""

import asyncio
import logging

from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import ConnectionLossError, SessionExpiredError, StoreClosedError

__all__ = ["notify_of_failed_log_dir"]

logger = logging.getLogger(__name__)

_RETRY_SECONDS = 1.0


async def notify_of_failed_log_dir(tree: ClusterTree, broker_id: int) -> None:
    """Write the notification, with retries; writing it twice is harmless."""
    while True:
        try:
            await tree.notify_of_failed_log_dir(broker_id)
            return
        except StoreClosedError:
            return  # the broker is stopping, with all its replicas
        except (ConnectionLossError, SessionExpiredError) as error:
            logger.warning("the controller was not told about the failed log directory, next try soon: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)
