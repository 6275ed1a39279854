"""A value that was given for a setting, with its source."""

from dataclasses import field
from enum import Enum

from ..base.frozen import frozen

__all__ = ["Given", "Source"]


class Source(Enum):
    """Where a value comes from."""

    DEFAULT = "default"
    FILE = "file"
    OVERRIDE = "override"
    CLUSTER_WIDE = "cluster-wide"
    """Set while the brokers run, for all of them."""
    PER_BROKER = "per-broker"
    """Set while the broker runs, for it alone."""


@frozen
class Given:
    """A value that was set.

    Attributes:
        place: where it was set, in words (``server.properties line 3``, or the name of an environment variable).
        name: the name under which it was set, if that is not the setting's (``node.id`` for ``broker.id``).
    """

    text: str = field(repr=False)  # may be a password
    source: Source
    place: str
    name: str | None = None
