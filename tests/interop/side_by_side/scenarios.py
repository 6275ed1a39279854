"""The list of all scenarios.

A new scenario is a function in one of these files, named in the list at the end of this file.
"""

from collections.abc import Callable

from interop.side_by_side import (
    access_scenarios,
    cluster_scenarios,
    config_scenarios,
    deleted_topic_scenarios,
    describe_config_scenarios,
    fetch_scenarios,
    frame_scenarios,
    group_scenarios,
    log_scenarios,
    misshapen_record_scenarios,
    offset_scenarios,
    partition_scenarios,
    produce_scenarios,
    topic_scenarios,
    transaction_life_scenarios,
    transaction_scenarios,
)
from interop.side_by_side.conversation import Conversation

__all__ = ["SCENARIOS", "Scenario"]

Scenario = Callable[[Conversation], None]

SCENARIOS: list[Scenario] = [
    *frame_scenarios.SCENARIOS,
    *topic_scenarios.SCENARIOS,
    *partition_scenarios.SCENARIOS,
    *deleted_topic_scenarios.SCENARIOS,
    *produce_scenarios.SCENARIOS,
    *misshapen_record_scenarios.SCENARIOS,
    *fetch_scenarios.SCENARIOS,
    *log_scenarios.SCENARIOS,
    *offset_scenarios.SCENARIOS,
    *group_scenarios.SCENARIOS,
    *transaction_scenarios.SCENARIOS,
    *transaction_life_scenarios.SCENARIOS,
    *describe_config_scenarios.SCENARIOS,
    *config_scenarios.SCENARIOS,
    *access_scenarios.SCENARIOS,
    *cluster_scenarios.SCENARIOS,
]
