"""The list of all scenarios. A new one is a function in one of these files, and its name in the list at its end."""

from collections.abc import Callable

from interop.side_by_side import (
    admin_oddities,
    admin_scenarios,
    config_scenarios,
    deleted_topic_scenarios,
    fetch_scenarios,
    frame_scenarios,
    group_scenarios,
    offset_scenarios,
    produce_scenarios,
    topic_scenarios,
)
from interop.side_by_side.conversation import Conversation

__all__ = ["SCENARIOS", "Scenario"]

Scenario = Callable[[Conversation], None]

SCENARIOS: list[Scenario] = [
    *frame_scenarios.SCENARIOS,
    *topic_scenarios.SCENARIOS,
    *produce_scenarios.SCENARIOS,
    *fetch_scenarios.SCENARIOS,
    *offset_scenarios.SCENARIOS,
    *group_scenarios.SCENARIOS,
    *config_scenarios.SCENARIOS,
    *deleted_topic_scenarios.SCENARIOS,
    *admin_scenarios.SCENARIOS,
    *admin_oddities.SCENARIOS,
]
