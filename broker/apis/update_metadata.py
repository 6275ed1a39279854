"""UpdateMetadata: the controller tells this broker who is up and who leads.

With the embedded store it comes through the local channel alone.
"""

import logging
from collections.abc import Callable

from ...protocol.errors import ErrorCode
from ...protocol.messages.update_metadata import UpdateMetadataRequest, UpdateMetadataResponse
from ..metadata_cache import MetadataCache

__all__ = ["UpdateMetadata"]

logger = logging.getLogger(__name__)


class UpdateMetadata:
    """``broker_epoch`` tells this broker's own: what is meant for an earlier life of it is refused."""

    def __init__(self, cache: MetadataCache, broker_epoch: Callable[[], int]) -> None:
        self._cache = cache
        self._broker_epoch = broker_epoch
        self._controller_epoch = 0

    def __call__(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        if request.broker_epoch != -1 and request.broker_epoch < self._broker_epoch():
            logger.info("metadata for broker epoch %d is refused: it is over", request.broker_epoch)
            return UpdateMetadataResponse(error_code=ErrorCode.STALE_BROKER_EPOCH)
        if request.controller_epoch < self._controller_epoch:
            logger.warning(
                "metadata of controller %d with epoch %d is refused: epoch %d was seen",
                request.controller_id,
                request.controller_epoch,
                self._controller_epoch,
            )
            return UpdateMetadataResponse(error_code=ErrorCode.STALE_CONTROLLER_EPOCH)
        self._controller_epoch = request.controller_epoch
        self._cache.update(request)
        return UpdateMetadataResponse()
