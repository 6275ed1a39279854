"""Orders of the controller that come at a bad moment."""

from typing import Any, cast

from pybroker.broker.controller_orders import ControllerOrders
from pybroker.broker.topic_overrides import TopicOverrides
from pybroker.controller.metadata_store import SessionExpiredError
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.leader_and_isr import LeaderAndIsrRequest, LeaderAndIsrTopicState

NOTHING = cast("Any", None)


class TreeWithoutSession:
    async def config(self, entity_type: str, name: str) -> dict[str, str]:
        raise SessionExpiredError(None, "the session expired while its client was away")


async def test_an_order_for_a_registration_whose_session_is_gone_is_refused() -> None:
    orders = ControllerOrders(NOTHING, NOTHING, TopicOverrides(), cast("Any", TreeWithoutSession()))
    request = LeaderAndIsrRequest(topic_states=[LeaderAndIsrTopicState(topic_name="t")])
    assert (await orders.leader_and_isr(request)).error_code == ErrorCode.STALE_BROKER_EPOCH
