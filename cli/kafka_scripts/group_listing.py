"""``kafka-consumer-groups --list``: the groups of consumers, with their states and types."""

import argparse
import sys

from ...base.printable import printable
from ...client.admin_cluster import AdminCluster
from ..groups.described_groups import listed_groups
from ..groups.shapes import GroupListed
from .script_parser import UsageError

__all__ = ["check_listing", "consumer_groups", "list_groups"]

_STATES = ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling")
_TYPES = ("Consumer", "Classic")
_LEAST_WIDTH, _GAP = 15, 10


def check_listing(options: argparse.Namespace) -> None:
    """Raises UsageError for a state or a type that does not exist."""
    for name, plural, known in (("state", "states", _STATES), ("type", "types", _TYPES)):
        text = getattr(options, name)
        if set(_chosen(text)) - {each.lower() for each in known}:
            kind = "state" if name == "state" else "types"
            raise UsageError(f"Invalid {kind} list '{text}'. Valid {plural} are: {', '.join(known)}")


def consumer_groups(cluster: AdminCluster) -> list[GroupListed]:
    """The groups of consumers, by name. Raises KafkaError, ConnectionError."""
    groups, failures = listed_groups(cluster)
    if failures:
        raise failures[0]
    return [each for each in groups if each.protocol_type in ("consumer", "")]


def list_groups(cluster: AdminCluster, options: argparse.Namespace) -> None:
    """Print the names, or a table with the columns that the options ask for."""
    states, types = _chosen(options.state), _chosen(options.type)
    groups = [
        each
        for each in consumer_groups(cluster)
        if (not states or (each.state or "").lower() in states) and (not types or (each.group_type or "") in types)
    ]
    if options.state is None and options.type is None:
        sys.stdout.write("".join(f"{printable(each.group)}\n" for each in groups))
        return
    width = max([_LEAST_WIDTH, *(len(each.group) for each in groups)]) + _GAP
    rows = [("GROUP", "TYPE", "STATE")]
    rows += [
        (printable(each.group), (each.group_type or "Unknown").capitalize(), each.state or "Unknown") for each in groups
    ]
    for group, kind, state in rows:
        cells = [f"{group:<{width}}"]
        cells += [f"{kind:<20}"] if options.type is not None else []
        cells += [f"{state:<20}"] if options.state is not None else []
        sys.stdout.write(" ".join(cells) + "\n")


def _chosen(text: str | None) -> list[str]:
    return [part.strip().lower() for part in (text or "").split(",") if part.strip()]
