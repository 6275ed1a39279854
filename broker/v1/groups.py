"""The list of the groups that this broker coordinates."""

from ...views.groups import GroupRow, Groups
from ...views.query import Query
from ..coordinator.group.base import GroupBase
from ..coordinator.group.consumer.consumer_group import ConsumerGroup
from ..coordinator.group.share.share_group import ShareGroup
from .group_lag import ShownLag, lag_of, verdict_name
from .known_state import KnownState
from .listing import matching_names, page_of
from .own_source import source_of

__all__ = ["group_row", "list_groups"]


async def list_groups(state: KnownState, query: Query) -> Groups:
    """Return the page of groups that the query asks for."""
    registry = state.parts.coordinators.groups.registry
    groups = {group.group_id: group for group in registry.groups()}
    rows: dict[str, GroupRow] = {}
    names = list(await matching_names(groups, query))
    await state.recent.share_lags.refresh(each for name in names if isinstance(each := groups[name], ShareGroup))
    for name in names:
        rows[name] = group_row(state, groups[name], await lag_of(state, groups[name]))
    wanted_state, wanted_verdict = query.text("state"), query.text("verdict")

    def is_wanted(row: GroupRow) -> bool:
        return wanted_state in (None, row.state) and wanted_verdict in (None, row.verdict)

    page = await page_of(rows, query, rows.get, "group", is_wanted)
    return Groups(
        source=source_of(state),
        is_loading=registry.ownership.is_loading_any,
        total=len(groups),
        matched=page.matched,
        items=page.rows,
    )


def group_row(state: KnownState, group: GroupBase, lag: ShownLag) -> GroupRow:
    """Return the row of a group. It takes time for the number of its offsets."""
    committed = group.offsets.committed
    places = lag.partitions.keys() if isinstance(group, ShareGroup) else committed.keys()
    consumers = state.parts.coordinators.groups.consumers
    return GroupRow(
        group=group.group_id,
        state=group.state_name,
        protocol_type=group.protocol_type or "",
        protocol=consumers.assignor(group) if isinstance(group, ConsumerGroup) else group.protocol_name,
        generation=group.generation_id,
        coordinator=state.broker_id,
        members=group.member_count,
        verdict=verdict_name(lag.verdict),
        verdict_text=lag.text,
        lag=lag.lag,
        max_lag=lag.max_lag,
        max_lag_seconds=lag.max_lag_s,
        seconds_to_catch_up=lag.catch_up_s,
        topics=len({topic_partition.topic for topic_partition in places}),
        partitions=len(places),
        last_commit_ms=max((record.value.commit_timestamp_ms for record in committed.values()), default=None),
        rebalances=sum(group.timeline.rebalances.values()),
    )
