"""Options for reading log directories."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from ...base.kafka_names import INTERNAL_TOPICS
from ...client.client_settings import ISOLATION_LEVELS, READ_COMMITTED
from ...client.given_options import OptionError
from .options import Options
from .read_options import INCLUDE_HEADERS
from .subscription import Assigned, Subscription, TopicPattern, Topics, subscription_of

_KNOWN = ("path", "assign", "subscribe", "subscribePattern", INCLUDE_HEADERS, "failOnDataLoss")

"""Topics that are read only if they are named."""


@dataclass(frozen=True, slots=True)
class LogOptions:
    """Checked options. `paths`: log directories or partition directories. `subscription` None: all topics except
    internal ones.
    """

    paths: tuple[str, ...]
    subscription: Subscription | None
    include_headers: bool
    fail_on_data_loss: bool
    committed_only: bool
    check_crcs: bool

    def wants(self, topic: str, partition: int) -> bool:
        """Returns whether the query reads a partition."""
        match self.subscription:
            case None:
                return topic not in INTERNAL_TOPICS
            case Assigned(partitions):
                return (topic, partition) in partitions
            case Topics(names):
                return topic in names
            case TopicPattern() as pattern:
                return topic not in INTERNAL_TOPICS and pattern.matches(topic)


def log_options(given: Mapping[str, str]) -> LogOptions:
    """Checks the options. Raises OptionError."""
    options = Options(given, _KNOWN)
    kafka = dict(options.kafka)
    isolation = kafka.pop("isolation.level", "read_uncommitted")
    check_crcs = kafka.pop("check.crcs", "true").lower()
    if isolation not in ISOLATION_LEVELS:
        raise OptionError(f"Option 'kafka.isolation.level' must be one of {', '.join(ISOLATION_LEVELS)}")
    if check_crcs not in ("true", "false"):
        raise OptionError(f"Option 'kafka.check.crcs' must be true or false, not '{check_crcs}'")
    for name in kafka:
        raise OptionError(f"Option 'kafka.{name}' has no effect on log directories")
    return LogOptions(
        paths=_paths(options.text("path") or ""),
        subscription=subscription_of(options),
        include_headers=options.boolean(INCLUDE_HEADERS, default=False),
        fail_on_data_loss=options.boolean("failOnDataLoss", default=True),
        committed_only=ISOLATION_LEVELS[isolation] == READ_COMMITTED,
        check_crcs=check_crcs == "true",
    )


def _paths(text: str) -> tuple[str, ...]:
    """Returns one or several paths separated by commas; a JSON list if a path contains a comma."""
    if text.startswith("["):
        try:
            paths = json.loads(text)
        except json.JSONDecodeError:
            raise OptionError(f"Option 'path' is not a valid JSON list: {text}") from None
    else:
        paths = re.split(r"\s*,\s*", text)
    found = tuple(path for path in paths if isinstance(path, str) and path)
    if not found:
        raise OptionError("Option 'path' must name a log directory, or the directory of a partition")
    return found
