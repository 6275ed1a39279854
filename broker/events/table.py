"""All events by id, and the event of a log record."""

import logging
from itertools import groupby

from ...base.event_marks import EVENT
from .event import Event
from .rooms.cluster import CLUSTER
from .rooms.consumer_groups import CONSUMER_GROUPS
from .rooms.directories import DIRECTORIES
from .rooms.groups import GROUPS
from .rooms.http import HTTP
from .rooms.logs import LOGS
from .rooms.metadata import METADATA
from .rooms.network import NETWORK
from .rooms.replication import REPLICATION
from .rooms.running import RUNNING
from .rooms.security import SECURITY
from .rooms.share_groups import SHARE_GROUPS
from .rooms.topics import TOPICS
from .rooms.transactions import TRANSACTIONS

__all__ = ["EVENTS", "ROOMS", "event_of"]

ROOMS = {
    "Process, settings, files and workers": RUNNING,
    "Connections, requests and misbehaving peers": NETWORK,
    "HTTP endpoint": HTTP,
    "Logins, certificates, ACLs and quotas": SECURITY,
    "Consumer groups and coordinators": GROUPS + CONSUMER_GROUPS + SHARE_GROUPS,
    "Transactions": TRANSACTIONS,
    "Controller and brokers": CLUSTER,
    "Topics and reassignments": TOPICS,
    "Metadata store and ZooKeeper": METADATA,
    "Replication": REPLICATION,
    "Logs and recovery": LOGS,
    "Log directories, moves and compaction": DIRECTORIES,
}
"""The rows by the title of their part of the page."""
EVENTS = {event.id: event for rows in ROOMS.values() for event in rows}
_UNMARKED = sorted((event for event in EVENTS.values() if event.template), key=lambda event: event.template)
_BY_PLACE = {(event.logger, event.template): event for event in _UNMARKED}
_ALIKE = [list(events) for _, events in groupby(_UNMARKED, key=lambda event: event.template)]
_BY_TEMPLATE = {events[0].template: events[0] for events in _ALIKE if len(events) == 1}
"""For lines that a helper logs with the logger of its caller."""
_OURS = __name__.partition(".")[0] + "."


def event_of(record: logging.LogRecord) -> Event | None:
    """The event of a line; None for lines at level DEBUG, and for lines of other packages."""
    name = getattr(record, EVENT, None)
    if name is not None:
        return EVENTS.get(name)
    template = record.msg
    if not isinstance(template, str) or not record.name.startswith(_OURS):
        return None
    return _BY_PLACE.get((record.name, template)) or _BY_TEMPLATE.get(template)
