"""The table of resources under /v1: paths, parameters and shapes.

The broker's handlers and the OpenAPI document follow from it.
"""

import types
from dataclasses import fields
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from ..base.acls import CLUSTER_NAME, CONCRETE_OPERATIONS, CONCRETE_RESOURCE_TYPES
from ..base.frozen import frozen
from .brokers import BrokerDetail, Brokers
from .clients import Clients
from .cluster import Cluster
from .events import Events
from .explanations import AclExplanation
from .groups import GroupDetail, GroupRow, Groups, Timeline
from .index import Index
from .partitions import PartitionMatrix
from .requests import SlowRequests
from .settings import Configs
from .topics import TopicDetail, TopicRow, Topics
from .traffic import HistoryDocument
from .transactions import TransactionRow, Transactions

__all__ = ["RESOURCES", "Parameter", "ResourceSpec", "sort_fields"]

_MOST_ROWS = 100_000
_POINTS = 3_600
_MOST_TEXT = 1_000


@frozen(kw_only=True)
class Parameter:
    """A value in the query: a number between ``least`` and ``most``, one of ``choices``, or a text.

    ``takes_several``: the value names different ones of ``choices``, separated by commas. ``default``: the value when
    the query lacks it. None: no default. ``is_required``: the query must have it.
    """

    name: str
    doc: str
    default: int | str | None = None
    least: int = 0
    most: int = _MOST_TEXT
    choices: tuple[str, ...] = ()
    takes_several: bool = False
    is_number: bool = False
    is_required: bool = False


@frozen(kw_only=True)
class ResourceSpec:
    """A path with the shape of its document. ``failures``: statuses besides 400 and 503."""

    path: str
    summary: str
    view: type
    parameters: tuple[Parameter, ...] = ()
    failures: tuple[int, ...] = ()


def sort_fields(row: type) -> tuple[str, ...]:
    """Return the fields of a row that a list can be sorted by: texts and numbers."""
    hints = get_type_hints(row)
    return tuple(each.name for each in fields(row) if _core_types(hints[each.name]) <= {str, int, float})


def _core_types(hint: Any) -> set[Any]:
    if get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, types.UnionType):
        return {each for each in get_args(hint) if each is not type(None)}
    return {hint}


def _list_parameters(row: type) -> tuple[Parameter, ...]:
    names = sort_fields(row)
    choices = (*names, *(f"-{name}" for name in names))
    return (
        Parameter(name="filter", doc="Rows whose name has this text; upper and lower case are equal."),
        Parameter(
            name="sort",
            doc="Field to sort by, with a minus sign from the largest down. Unknown values come last.",
            default=names[0],
            choices=choices,
        ),
        *_PAGE,
    )


_PAGE = (
    Parameter(name="limit", doc="The most rows to return.", default=10_000, least=1, most=_MOST_ROWS, is_number=True),
    Parameter(name="offset", doc="Rows to leave out at the start.", default=0, most=10_000_000, is_number=True),
)
_STATES = ("offline", "under_replicated", "under_min_isr")

RESOURCES = (
    ResourceSpec(path="/v1", summary="The resources", view=Index),
    ResourceSpec(path="/v1/cluster", summary="Is the cluster healthy, and how much traffic has it?", view=Cluster),
    ResourceSpec(
        path="/v1/history",
        summary="Rates of the last hour, of this broker",
        view=HistoryDocument,
        parameters=(
            Parameter(name="topic", doc="Only the traffic of this topic."),
            Parameter(name="points", doc="Number of spans.", default=120, least=1, most=_POINTS, is_number=True),
        ),
    ),
    ResourceSpec(path="/v1/brokers", summary="The live brokers", view=Brokers),
    ResourceSpec(path="/v1/brokers/{id}", summary="One broker", view=BrokerDetail, failures=(404,)),
    ResourceSpec(
        path="/v1/partitions",
        summary="All partitions with their replicas, in columns",
        view=PartitionMatrix,
        parameters=(
            Parameter(name="topic", doc="Only the partitions of this topic."),
            Parameter(name="state", doc="Only partitions in this state.", choices=(*_STATES, "not_preferred")),
            *_PAGE,
        ),
    ),
    ResourceSpec(
        path="/v1/topics",
        summary="The topics",
        view=Topics,
        parameters=(
            *_list_parameters(TopicRow),
            Parameter(
                name="state",
                doc="Only topics with a partition in this state, or internal topics.",
                choices=(*_STATES, "internal"),
            ),
            Parameter(
                name="fields",
                doc="Fields to return, in columns. The document then has them in rows, and no items.",
                choices=tuple(each.name for each in fields(TopicRow)),
                takes_several=True,
            ),
        ),
    ),
    ResourceSpec(
        path="/v1/topics/{topic}",
        summary="One topic: partitions, settings, consumers, producers",
        view=TopicDetail,
        failures=(404,),
    ),
    ResourceSpec(
        path="/v1/groups",
        summary="The groups that this broker coordinates",
        view=Groups,
        parameters=(
            *_list_parameters(GroupRow),
            Parameter(name="state", doc="Only groups in this state, such as Stable."),
            Parameter(name="verdict", doc="Only groups with this verdict, such as stopped."),
        ),
    ),
    ResourceSpec(
        path="/v1/groups/{group}",
        summary="One group: members, offsets, lag",
        view=GroupDetail,
        failures=(404, 421),
    ),
    ResourceSpec(
        path="/v1/groups/{group}/timeline",
        summary="The last rebalances of a group, with reason and cause",
        view=Timeline,
        failures=(404, 421),
    ),
    ResourceSpec(path="/v1/clients", summary="The clients with most traffic on this broker", view=Clients),
    ResourceSpec(
        path="/v1/requests/slow",
        summary="The last slow requests of this broker",
        view=SlowRequests,
        parameters=(
            Parameter(name="limit", doc="The most rows to return.", default=1_000, least=1, most=1_000, is_number=True),
        ),
    ),
    ResourceSpec(path="/v1/events", summary="The last lines of this broker's log", view=Events),
    ResourceSpec(
        path="/v1/transactions",
        summary="The transactional ids that this broker coordinates",
        view=Transactions,
        parameters=_list_parameters(TransactionRow),
    ),
    ResourceSpec(
        path="/v1/configs",
        summary="The settings of this broker",
        view=Configs,
        parameters=(
            Parameter(name="filter", doc="Settings and loggers whose name has this text."),
            Parameter(
                name="changed", doc="true: only settings that are set.", default="false", choices=("true", "false")
            ),
        ),
    ),
    ResourceSpec(
        path="/v1/explain/acl",
        summary="May a user do this, and which rule decides?",
        view=AclExplanation,
        parameters=(
            Parameter(name="user", doc="The user, as alice or User:alice.", is_required=True),
            Parameter(
                name="operation",
                doc="What the user wants to do. 404: resources of this type do not have it.",
                choices=tuple(each.name for each in CONCRETE_OPERATIONS),
                is_required=True,
            ),
            Parameter(
                name="resource-type",
                doc="The type of the resource.",
                choices=tuple(each.name for each in CONCRETE_RESOURCE_TYPES),
                is_required=True,
            ),
            Parameter(
                name="resource", doc=f"The name of the resource; of the cluster: {CLUSTER_NAME}.", is_required=True
            ),
            Parameter(
                name="host",
                doc="The address that the user comes from; *: one that no rule names.",
                default="127.0.0.1",
            ),
        ),
        failures=(404,),
    ),
)
