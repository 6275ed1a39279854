"""The parts of the broker whose state the resources show."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from ...base.frozen import frozen
from ...config.config import Config
from ...config.topic_config import TopicConfig
from ..apis.broker_parts import BrokerParts
from ..events.recent_events import RecentEvents
from ..lag.group_lags import GroupLags
from ..network.listener import Listeners
from ..network.settings import Endpoint
from ..requests.dispatch import Dispatcher
from ..requests.recent_counts import RecentCounts
from ..requests.request_watch import RequestWatch
from .lag_histories import LagHistories
from .share_lags import ShareLags
from .traffic_sampler import TrafficSampler

if TYPE_CHECKING:
    from ..security.acl.access import Access

__all__ = ["KnownState", "Recent", "TopicRules"]

_SHOWN_RULES = ("cleanup.policy", "min.insync.replicas", "retention.bytes", "retention.ms")


class TopicRules(NamedTuple):
    """The settings of a topic that lists show or need. None: no limit."""

    cleanup_policy: str
    min_isr: int
    retention_ms: int | None
    retention_bytes: int | None


class Recent(NamedTuple):
    """Samples of the last hour: the traffic, and the lags of groups; and the request times of the last minutes.

    ``share_lags``: the newest lags of share groups.
    """

    traffic: TrafficSampler
    lags: LagHistories
    request_times: RecentCounts
    share_lags: ShareLags


@frozen(kw_only=True)
class KnownState:
    """Made when the broker can serve clients. ``overrides``: the settings that were set on a topic. ``access``: None
    without an authorizer."""

    parts: BrokerParts
    listeners: Listeners
    endpoints: Sequence[Endpoint]
    overrides: Callable[[str], Mapping[str, str]]
    recent: Recent
    lags: GroupLags
    recent_events: RecentEvents
    requests: RequestWatch
    dispatcher: Dispatcher
    access: "Access | None"
    clock_ms: Callable[[], int]
    started_ms: int

    @property
    def broker_id(self) -> int:
        return self.parts.metadata.identity.broker_id

    def rules_of(self, topic: str) -> TopicRules:
        overrides = self.overrides(topic)
        shown = tuple((name, overrides[name]) for name in _SHOWN_RULES if name in overrides)
        return _rules(self.parts.settings.dynamic.config, shown)


@lru_cache(maxsize=64)
def _rules(defaults: Config, overrides: tuple[tuple[str, str], ...]) -> TopicRules:
    """Cached, because most topics of a list have the same settings."""
    config = TopicConfig.in_force(defaults, dict(overrides))
    return TopicRules(
        ",".join(config.list("cleanup.policy")),
        config.int("min.insync.replicas"),
        _limit(config.int("retention.ms")),
        _limit(config.int("retention.bytes")),
    )


def _limit(value: int) -> int | None:
    return None if value < 0 else value
