"""UpdateMetadata: the controller tells this broker the live brokers and the state of partitions.

v5 groups partitions by topic.
"""

from typing import Protocol

from ....protocol.messages.update_metadata import (
    UpdateMetadataRequest,
    UpdateMetadataResponse,
    UpdateMetadataTopicState,
)
from ...requests.context import RequestContext

__all__ = ["MetadataOrders", "UpdateMetadata"]


class MetadataOrders(Protocol):
    """The part of `ControllerOrders` that this handler uses."""

    def update_metadata(self, request: UpdateMetadataRequest) -> UpdateMetadataResponse: ...


class UpdateMetadata:
    """Handles UpdateMetadata requests."""

    def __init__(self, orders: MetadataOrders) -> None:
        self._orders = orders

    def __call__(self, context: RequestContext, request: UpdateMetadataRequest) -> UpdateMetadataResponse:
        if context.api_version < 5:
            topics: dict[str, UpdateMetadataTopicState] = {}
            for state in request.ungrouped_partition_states:
                topic = topics.setdefault(state.topic_name, UpdateMetadataTopicState(topic_name=state.topic_name))
                topic.partition_states.append(state)
            request.topic_states = list(topics.values())
        return self._orders.update_metadata(request)
